"""Fake endpoints, music services and judges, to test code that asks models without a model, a key or a bill.

    with fake_endpoint(lambda body: "C minor", faults=0.2) as server:       # a fifth of the calls fail
        endpoint = cmi.llm.Endpoint(server.url, "fake")
    with fake_music_service(faults={"submit": ["500"]}) as service:          # the first submission fails
        generator = load_service(service.write_description(folder / "fake.toml"))

`cmi judge endpoint` serves one that judges music by a rule anyone can check.
"""

from cmi._util.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
