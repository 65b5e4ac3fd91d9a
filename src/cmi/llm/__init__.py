"""Audio language models: ask one about sounds, behind any OpenAI-compatible endpoint or in this process.

    endpoint = Endpoint("http://localhost:8000/v1", "my-model")
    request = Request("item-1", (user("What key is this in?", Sound(Path("clip.wav"))),))
    with Chat(endpoint, Path("runs/mine")) as chat:
        for key, answer in chat.ask_all([request]):      # or `async for key, answer in chat.ask([request])`
            print(key, answer.text if isinstance(answer, Answer) else answer.reason)

    model = load_model("Qwen/Qwen2-Audio-7B-Instruct")   # a folder, a hub id, or a family such as "music-flamingo"
    answers = dict(model.ask_all([request]))              # in this process, in batches; nothing is written

Results
    Every request gets one `Answer` or one `Failure` with its reason, in the order in which they are ready.
    `Answer.reasoning` holds <think> blocks and reasoning that the endpoint sends separately; `Answer.text` never does.
    `Answer.heard` says how much of each sound the model got; `Answer.cut` says it in words if a sound was truncated.

    `probe_hearing(model)` finds out whether a server cuts sounds without saying so (`cmi.llm.hearing`).

Endpoints: nothing is lost or paid for twice
    An answer is on disk (folder/answers.jsonl) before it is returned, and a request with an answer is never sent again,
    so the same call resumes after any stop. Failures are not stored; the next call retries them. A request is
    identified by its key, model, words, schema and the bytes of its sounds. Keys must be unique. A request in flight
    when the process was killed is sent again with the same Idempotency-Key header. On Ctrl-C the client waits for the
    requests in flight.

Unusable answers
    `accept(text)` returns why a text cannot be used, or None. The request is then repeated up to `endpoint.repairs`
    times, with the reason as a last message. Every answer is stored; the last one is returned with `Answer.why` set.
    A response without text is stored as it came (`Answer.raw`) and also sets `Answer.why`.

Limits
    `Sending` limits the sounds (seconds, size, format, rate). The number of requests in flight adapts to 429s;
    Retry-After is obeyed, and retries use growing pauses with jitter. `Budget` (calls, tokens, or money at `Prices`)
    counts everything in the folder; when it is spent, the stream ends with BudgetSpent after the answers in flight.
    A wrong key, model or address, or an endpoint that never answered, ends the stream with an InputError.

Keys come from the environment (`Endpoint.key_env`) and are replaced by '[key]' in everything stored, shown or raised.
By default, OPENAI_API_KEY is sent to OpenAI's own addresses and to no other. Redirects are not followed.

The folder
    answers.jsonl     each answer with its request; sounds and long texts are given by their hashes
    texts.jsonl       the long texts, once each
    endpoint.json     the response format that the endpoint accepts: json_schema, else json_object, else plain
"""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
