"""Translations of the server's messages to annotators. The code has them in English.

A message is looked up by its English template; the gaps of the translation are filled from the message.
"""

import re

TRANSLATIONS = {
    "zh": {
        "there is nothing at this address": "这里什么也没有",
        "there is no such page": "没有这个页面",
        "you are not signed in: open your invitation link again": "您尚未登录：请重新打开您的邀请链接",
        "the page is out of date: reload it and try again": "页面已过期：请刷新后重试",
        "your role does not allow this": "您的身份不允许此操作",
        "the {role} of a study does not vote in it; make yourself an annotator's link": (
            "研究的管理者或观察者不参与投票；请为自己创建一个标注者链接"
        ),
        "please agree to the consent text first": "请先同意知情同意书",
        "this link was used, has expired or was revoked; ask whoever runs the study for a new one": (
            "此链接已被使用、已过期或已被撤销；请向研究负责人索取新的链接"
        ),
        "you have withdrawn from this study": "您已退出本研究",
        "you are paused: no new page can be opened": "您已被暂停：暂时不能开始新的一对",
        "you are paused: your votes are not accepted until the owner of the study resumes you": (
            "您已被暂停：在研究负责人恢复您之前，不接受您的投票"
        ),
        "the study is paused: no new page can be opened": "研究已暂停：暂时不能开始新的一对",
        "the study is closed: no new page can be opened": "研究已结束：不能再开始",
        "the study is {state}: no new page can be opened": "研究已结束：不能再开始新的一对",
        "the study is closed: votes can no longer be changed": "研究已结束：投票不能再修改",
        "this vote was already corrected {times} times, the maximum": "这次投票已修改 {times} 次，达到上限",
        "votes can be corrected for {hours} hours; this one is older": "投票在 {hours} 小时内可修改；这次已超过",
        "the takes of this pair have not been opened yet": "这一对音乐尚未打开",
        "you have no such page; continue with the next pair": "没有这个页面；请继续下一对",
        "please hear {seconds} s of take {take} before you vote": "投票前请听音乐 {take} 至少 {seconds} 秒",
        "please hear {seconds} s of the reference recording before you vote": "投票前请听参考录音至少 {seconds} 秒",
        "you cannot have heard both takes yet; please listen before you vote": "两段音乐不可能都已听过；请先听再投票",
        "you cannot have heard the reference recording yet; please listen before you vote": (
            "参考录音不可能已听过；请先听再投票"
        ),
        "the takes of this page have not been opened yet": "这一页的音乐尚未打开",
        "you cannot have heard the takes yet; please listen before you vote": "这些音乐不可能都已听过；请先听再投票",
        "answers on {given}, expected {axes}": "回答的方面是 {given}，应为 {axes}",
        "answers about the takes {given}, expected {takes}": "回答的音乐是 {given}，应为 {takes}",
        "{axis} is {value}, expected {lowest} to {highest}": "{axis} 的回答是 {value}，应为 {lowest} 到 {highest}",
        "{axis} is {choice}, expected a or b": "{axis} 的回答是 {choice}，应为 a 或 b",
        "the confidence in {axis} is {confidence}, expected 1 to 5": "{axis} 的把握程度是 {confidence}，应为 1 到 5",
        "the feedback has {length} characters, expected at most {most}": "反馈有 {length} 个字符，最多 {most} 个",
        "{seconds} seconds were heard, expected 0 or more": "听过的时间是 {seconds} 秒，应不小于 0",
        "nothing is wrong with these recordings; try to play them again": "这些录音没有问题；请再试着播放",
        "this recording cannot be played, because its file is missing. You can skip the pair": (
            "此录音无法播放：文件缺失。您可以跳过这一对"
        ),
        "this recording cannot be played at the moment; try again, and tell whoever runs the study": (
            "此录音暂时无法播放；请重试，并告知研究负责人"
        ),
        "the recording does not have the requested range": "录音没有这一部分",
        "nobody else can run this study: let another owner join first": "没有其他人能管理本研究：请先让另一人加入",
        "too many requests: try again in {seconds} s": "请求过多：请在 {seconds} 秒后重试",
        "this is larger than {bytes} bytes, the maximum": "内容超过上限 {bytes} 字节",
        "the request took too long to arrive; try again": "请求到达得太慢；请重试",
        "this server does not serve that host name": "本服务器没有这个名称",
        "this request does not come from a page of the arena": "此请求不是来自本网站的页面",
        "the server's disk is full, so this was not saved. Send it again when there is space": (
            "服务器磁盘已满，未能保存。有空间后可以再次发送"
        ),
        "the database cannot be reached at the moment: try again soon": "暂时无法访问数据库：请稍后重试",
        "something went wrong on the server: try again": "服务器出错：请重试",
        "this link does not lead to an open study; ask whoever gave it to you": (
            "此链接没有对应的、正在招募的研究；请询问给您链接的人"
        ),
        "this link has no participant id; open it from the page that gave it to you": (
            "此链接没有说明您是谁；请从提供链接的页面打开"
        ),
        "this link was changed or is incomplete; open it as it was given to you": (
            "此链接被修改过或不完整；请按原样打开"
        ),
        "this participant id is already in use; continue in the browser in which you started, open the link of the "
        "same submission, or ask whoever runs the study for a link": (
            "已有人用此参与者编号开始；请在您开始时的浏览器中继续，打开同一次提交的链接，或向研究负责人索取链接"
        ),
        "a check comes first, or was not passed: no new page can be opened": (
            "需先通过检查，或检查未通过：不能开始新的一对"
        ),
        "there is nothing to check now; reload the page": "现在没有需要检查的内容；请刷新页面",
        "you cannot have heard the sounds yet; please listen before you answer": "这些声音不可能都已听过；请先听再回答",
    }
}
_GAP = re.compile(r"\\\{(\w+)\\\}")  # in a template after re.escape
_TEMPLATES = {
    language: [(re.compile(_GAP.sub(r"(?P<\1>.+?)", re.escape(english))), theirs) for english, theirs in table.items()]
    for language, table in TRANSLATIONS.items()
}


def preferred_language(header: str) -> str:
    """The first language of an Accept-Language header that we speak; English if there is none.

    >>> preferred_language("de, zh-CN;q=0.9, en;q=0.8")
    'zh'
    """
    for part in header.split(","):
        language = part.partition(";")[0].strip().partition("-")[0].lower()
        if language == "en" or language in TRANSLATIONS:
            return language
    return "en"


def translate(sentence: str, language: str) -> str:
    """A sentence of the server in another language, or as it is if that language does not have it.

    >>> translate("please hear 12 s of take A before you vote", "zh")
    '投票前请听音乐 A 至少 12 秒'
    """
    for english, theirs in _TEMPLATES.get(language, ()):
        if found := english.fullmatch(sentence):
            return theirs.format(**found.groupdict())
    return sentence


def write_sentence(sentence: str, language: str) -> str:
    """A refusal as a whole sentence."""
    translated = translate(sentence, language)
    if translated != sentence:
        return f"{translated}。"
    return f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}."
