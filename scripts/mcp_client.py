"""Talks to `lifecycle mcp` over stdio and over HTTP with the reference client; exits 1 on any surprise."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

READING = {"brief", "get", "list_docs", "projects", "search", "status", "why"}
WRITING = {"add_file", "add_text", "add_url", "delete", "update"}


async def look(session, writing):
    start = time.monotonic()
    hello = await session.initialize()
    assert hello.server_info.name == "lifecycle", hello
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == READING | (WRITING if writing else set()), sorted(tools)
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint == (name in READING), name
        assert tool.input_schema["type"] == "object", name
    assert time.monotonic() - start < 5, "the first answers waited for something"


async def call(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, (tool, result)
    return result.structured_content


async def write_and_read(session):
    added = await call(
        session, "add_text", content="# Berths\n\nThe buffer is 40 m.", name="berths", tags=["harbor"]
    )
    assert added["outcome"] == "added", added
    found = await call(session, "search", query="berth buffer", tags=["harbor"], k=3)
    hit = found["results"][0]
    assert "40 m" in hit["text"] and hit["truncated"] is False, hit
    assert (await call(session, "get", id=hit["id"]))["title"] == "Berths"
    changed = await call(session, "update", id=added["id"], text="# Berths\n\nThe buffer is 50 m.")
    assert changed["outcome"] == "replaced" and changed["id"] == added["id"], changed
    assert "50 m" in (await call(session, "search", query="berth buffer"))["results"][0]["text"]
    assert (await call(session, "list_docs"))["documents"][0]["id"] == added["id"]
    assert "text" in await call(session, "brief")
    assert "model" in await call(session, "status")
    assert (await call(session, "projects"))["projects"][0]["documents"] == 1
    for tool, arguments in [
        ("get", {"id": "zz"}),
        ("add_url", {"content": "http://127.0.0.1:9/"}),
        ("add_file", {"content": "/etc/passwd"}),
        ("search", {"query": " "}),
    ]:
        refused = await session.call_tool(tool, arguments)
        assert refused.is_error and refused.structured_content["error"], (tool, refused)


async def over_stdio(program):
    # With the log turned up, standard output must still carry the protocol alone.
    arguments = ["mcp", "-vv", "--set", "mcp.allow_write=true"]
    with tempfile.TemporaryFile("w+") as log:
        server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
        async with stdio_client(server, errlog=log) as (read, write):
            async with ClientSession(read, write) as session:
                await look(session, writing=True)
                await write_and_read(session)


async def over_http(program):
    server = subprocess.Popen(
        [program, "mcp", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        url = server.stderr.readline().split()[-1]
        # Two clients of one server at once.
        async with streamable_http_client(url) as one, streamable_http_client(url) as two:
            for read, write, *_ in (one, two):
                async with ClientSession(read, write) as session:
                    await look(session, writing=False)
                    assert (await call(session, "search", query="berth buffer"))["results"]
    finally:
        server.terminate()
        server.wait()


async def main(program):
    await over_stdio(program)
    await over_http(program)


os.makedirs(os.environ["HOME"], exist_ok=True)
asyncio.run(asyncio.wait_for(main(sys.argv[1]), 60))
print("the reference client agrees, over stdio and over HTTP")
