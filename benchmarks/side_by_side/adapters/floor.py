# bench-peer: name=floor-aiohttp venv=stub variant=aiohttp label="raw aiohttp + gather"
# bench-peer: name=floor-aiohttp-uvloop venv=stub variant=aiohttp-uvloop label="raw aiohttp on uvloop + gather"
# bench-peer: name=floor-httpx venv=stub variant=httpx label="raw httpx + gather"
# bench-peer: name=floor-httpx2 venv=core variant=httpx2 label="raw httpx2 + gather"
# bench-peer: name=floor-openai venv=core variant=openai label="AsyncOpenAI + gather"
# bench-peer: name=floor-openai-aiohttp venv=oaio variant=openai-aiohttp label="AsyncOpenAI on aiohttp + gather"
"""No framework: the job written by hand on an HTTP client."""

import asyncio
import json

from _common import (
    COMPOSER,
    LEAD,
    MODEL,
    TOOL_DOC,
    WORKER,
    args,
    compose_prompt,
    lookup_value,
    plan_prompt,
    run,
    work_prompt,
)

if args.variant.startswith("aiohttp"):
    import aiohttp

    if args.variant.endswith("uvloop"):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
elif args.variant == "httpx":
    import httpx
elif args.variant == "httpx2":
    import httpx2 as httpx
else:
    import openai

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": TOOL_DOC,
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        },
    }
]
URL = args.base_url + "/chat/completions"


async def attempt(fn):
    """One call; with --retry, up to three tries with a short backoff."""
    for k in range(3 if args.retry else 1):
        try:
            return await fn()
        except Exception:
            if k == (2 if args.retry else 0):
                raise
            await asyncio.sleep(0.05 * 2**k)
    return None


def make_chat(client):
    async def chat(messages, tools=None):
        body = {"model": MODEL, "messages": messages, **({"tools": tools} if tools else {})}
        if args.variant.startswith("openai"):

            async def go():
                return (await client.chat.completions.create(**body)).choices[0].message.model_dump(exclude_none=True)
        elif args.variant.startswith("aiohttp"):

            async def go():
                async with client.post(URL, json=body) as r:
                    r.raise_for_status()
                    return (await r.json())["choices"][0]["message"]
        else:

            async def go():
                r = await client.post(URL, json=body)
                r.raise_for_status()
                return r.json()["choices"][0]["message"]

        return await attempt(go)

    return chat


async def worker(chat, i, key):
    messages = [{"role": "system", "content": WORKER}, {"role": "user", "content": work_prompt(i, key)}]
    for _ in range(5):
        m = await chat(messages, TOOLS)
        messages.append(m)
        if not m.get("tool_calls"):
            return m["content"]
        for tc in m["tool_calls"]:
            try:
                out = lookup_value(**json.loads(tc["function"]["arguments"]))
            except ValueError as exc:
                out = f"error: {exc}"
            messages.append({"role": "tool", "tool_call_id": tc["id"], "content": out})
    raise RuntimeError("too many turns")


async def lead(chat):
    m = await chat([{"role": "system", "content": LEAD}, {"role": "user", "content": plan_prompt()}])
    subtasks = json.loads(m["content"])["subtasks"]
    results = await asyncio.gather(
        *(worker(chat, i, s["args"]["key"]) for i, s in enumerate(subtasks)), return_exceptions=True
    )
    m = await chat([{"role": "system", "content": COMPOSER}, {"role": "user", "content": compose_prompt(results)}])
    return results, m["content"]


async def job():
    if args.variant.startswith("aiohttp"):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as c:
            return await lead(make_chat(c))
    if args.variant == "openai":
        return await lead(make_chat(openai.AsyncOpenAI()))
    if args.variant == "openai-aiohttp":
        async with openai.DefaultAioHttpClient() as transport:
            return await lead(make_chat(openai.AsyncOpenAI(http_client=transport)))
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    async with httpx.AsyncClient(limits=limits, timeout=600, trust_env=False) as c:
        return await lead(make_chat(c))


run(job)
