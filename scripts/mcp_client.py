"""Talks to `lifecycle mcp` over stdio and over HTTP with the reference client; exits 1 on any surprise."""

import asyncio
import os
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

READING = {"brief", "get", "list_docs", "projects", "search", "status", "why"}
WRITING = {"add_file", "add_text", "add_url", "delete", "update"}


async def look(session, writing):
    hello = await session.initialize()
    assert hello.serverInfo.name == "lifecycle", hello
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == READING | (WRITING if writing else set()), sorted(tools)
    for name, tool in tools.items():
        assert tool.annotations.readOnlyHint == (name in READING), name


async def over_stdio(program):
    server = StdioServerParameters(
        command=program, args=["mcp", "--set", "mcp.allow_write=true"], env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await look(session, writing=True)
        added = await session.call_tool("add_text", {"content": "# Berths\n\nThe buffer is 40 m."})
        assert not added.isError, added
        found = await session.call_tool("search", {"query": "berth buffer"})
        hit = found.structuredContent["results"][0]
        assert "40 m" in hit["text"], hit
        whole = await session.call_tool("get", {"id": hit["id"]})
        assert whole.structuredContent["title"] == "Berths", whole
        wrong = await session.call_tool("get", {"id": "zz"})
        assert wrong.isError, wrong


async def over_http(program):
    server = subprocess.Popen(
        [program, "mcp", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        url = server.stderr.readline().split()[-1]
        async with streamablehttp_client(url) as (read, write, _):
            async with ClientSession(read, write) as session:
                await look(session, writing=False)
                found = await session.call_tool("search", {"query": "berth buffer"})
                assert found.structuredContent["results"], found
    finally:
        server.terminate()
        server.wait()


os.makedirs(os.environ["HOME"], exist_ok=True)
asyncio.run(over_stdio(sys.argv[1]))
asyncio.run(over_http(sys.argv[1]))
print("the reference client agrees, over stdio and over HTTP")
