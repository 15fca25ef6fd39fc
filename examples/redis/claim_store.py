"""Claims in Redis: a `remit.claims.ClaimStore`, for a checkpointer whose database REMIT does not know.

    saver = RemitSaver(inner, cross_process_gate=True, claim_store=RedisClaimStore(redis.Redis(), redis.asyncio.Redis()))

Each method is one Lua script, which Redis runs as one atomic step by its own clock. The keys of a thread have one hash
tag, so that they are in one slot of a cluster:

    remit:{thread}:grants   hash: grant -> its record as JSON
    remit:{thread}:last     hash: key -> the highest number
    remit:{thread}:running  hash: plane -> the grant that runs
    remit:{thread}:order    list: the grants, oldest first

What a claim store promises is durable when a method returns. Redis promises that with `appendonly yes` and
`appendfsync always`; a fail-over to a replica that had not seen a grant forgets it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from remit.claims import Grant, Key

_PRELUDE = """
local grants, last, running, order = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function load(name)
  local text = name and redis.call('HGET', grants, name)
  return text and cjson.decode(text)
end
local function save(name, grant) redis.call('HSET', grants, name, cjson.encode(grant)) end
local function text(number) return string.format('%.0f', number) end
"""

_GRANT = """
local key, plane, fence, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local name = key .. '#' .. fence
if redis.call('HEXISTS', running, plane) == 1 or redis.call('HEXISTS', grants, name) == 1 then return false end
local since = now()
local grant = cjson.decode(ARGV[5])
grant.state, grant.running, grant.since, grant.lease_end = 'held', true, text(since), text(since + lease)
save(name, grant)
redis.call('HSET', last, key, fence)
redis.call('HSET', running, plane, name)
redis.call('RPUSH', order, name)
return grant.lease_end
"""

_LOOK = """
local key, plane = ARGV[1], ARGV[2]
local fence = redis.call('HGET', last, key)
local newest = fence and redis.call('HGET', grants, key .. '#' .. fence)
local name = redis.call('HGET', running, plane)
return {newest or '', name and redis.call('HGET', grants, name) or '', text(now())}
"""

_SETTLE = """
local key, plane, fence, state, outcome, runs, seen = unpack(ARGV)
local name = key .. '#' .. fence
local grant = load(name)
if not grant or not grant.running or (seen ~= '' and grant.lease_end ~= seen) then return 0 end
if grant.state == 'held' then grant.state, grant.outcome, grant.settled = state, outcome, text(now()) end
grant.running = runs == '1'
if not grant.running then redis.call('HDEL', running, plane) end
save(name, grant)
return 1
"""

_RENEW = """
local name = ARGV[1] .. '#' .. ARGV[2]
local grant = load(name)
if not grant or not grant.running then return false end
grant.lease_end = text(math.max(tonumber(grant.lease_end), now() + tonumber(ARGV[3])))
save(name, grant)
return grant.lease_end
"""

_TRAIL = """
local found = {}
for _, name in ipairs(redis.call('LRANGE', order, 0, -1)) do table.insert(found, redis.call('HGET', grants, name)) end
return found
"""

_FORGET = "redis.call('DEL', unpack(KEYS))"


class RedisClaimStore:
    """Claims in Redis.

    Args:
        client: a `redis.Redis`, for blocking savers.
        aclient: a `redis.asyncio.Redis`, for async savers.
    """

    def __init__(self, client: Any, aclient: Any = None) -> None:
        self._client, self._aclient = client, aclient

    def grant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> int | None:
        return _number(self._run(*_grant(key, fence, owner, lease, interrupts, answer_id, digest)))

    async def agrant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> int | None:
        return _number(await self._arun(*_grant(key, fence, owner, lease, interrupts, answer_id, digest)))

    def look(self, key: Key) -> tuple[Grant | None, Grant | None, int]:
        return _looked(self._run(_LOOK, key.thread, *_names(key)))

    async def alook(self, key: Key) -> tuple[Grant | None, Grant | None, int]:
        return _looked(await self._arun(_LOOK, key.thread, *_names(key)))

    def settle(self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None) -> bool:
        return bool(self._run(*_settle(key, fence, state, outcome, running, lease_end)))

    async def asettle(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None
    ) -> bool:
        return bool(await self._arun(*_settle(key, fence, state, outcome, running, lease_end)))

    def renew(self, key: Key, fence: int, lease: int) -> int | None:
        return _number(self._run(_RENEW, key.thread, _names(key)[0], fence, lease))

    async def arenew(self, key: Key, fence: int, lease: int) -> int | None:
        return _number(await self._arun(_RENEW, key.thread, _names(key)[0], fence, lease))

    def trail(self, thread: str) -> list[Grant]:
        return [_read(text) for text in self._run(_TRAIL, thread)]

    async def atrail(self, thread: str) -> list[Grant]:
        return [_read(text) for text in await self._arun(_TRAIL, thread)]

    def answered(self, thread: str, answer_id: str) -> list[Grant]:
        return [grant for grant in self.trail(thread) if grant.answer_id == answer_id]

    async def aanswered(self, thread: str, answer_id: str) -> list[Grant]:
        return [grant for grant in await self.atrail(thread) if grant.answer_id == answer_id]

    def forget(self, thread: str) -> None:
        self._run(_FORGET, thread)

    async def aforget(self, thread: str) -> None:
        await self._arun(_FORGET, thread)

    def _run(self, script: str, thread: str, *args: Any) -> Any:
        return self._client.eval(_PRELUDE + script, 4, *_keys(thread), *args)

    async def _arun(self, script: str, thread: str, *args: Any) -> Any:
        return await self._aclient.eval(_PRELUDE + script, 4, *_keys(thread), *args)


def _keys(thread: str) -> list[str]:
    return [f"remit:{{{thread}}}:{part}" for part in ("grants", "last", "running", "order")]


def _names(key: Key) -> tuple[str, str]:
    """A key and its plane, as fields: JSON keeps their parts apart, whatever is in them."""
    return json.dumps(key[1:]), json.dumps((key.namespace, key.line))


def _grant(
    key: Key,
    fence: int,
    owner: str,
    lease: int,
    interrupts: Sequence[str],
    answer_id: str | None,
    digest: str | None,
) -> tuple[Any, ...]:
    said = {
        "key": list(key),
        "fence": fence,
        "owner": owner,
        # a list inside the record would come back from Lua as an object when it is empty
        "interrupts": json.dumps(list(interrupts)),
        **({"answer_id": answer_id, "digest": digest} if answer_id is not None else {}),
    }
    return _GRANT, key.thread, *_names(key), fence, lease, json.dumps(said)


def _settle(key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None) -> tuple[Any, ...]:
    seen = "" if lease_end is None else str(lease_end)
    return _SETTLE, key.thread, *_names(key), fence, state, outcome, "1" if running else "0", seen


def _number(text: bytes | str | None) -> int | None:
    return None if text is None else int(text)


def _looked(found: list[Any]) -> tuple[Grant | None, Grant | None, int]:
    last, running, now = found
    return _read(last) if last else None, _read(running) if running else None, int(now)


def _read(text: bytes | str) -> Grant:
    record = json.loads(text)
    return Grant(
        key=Key(*record["key"]),
        fence=int(record["fence"]),
        state=record["state"],
        running=record["running"],
        owner=record["owner"],
        since=int(record["since"]),
        lease_end=int(record["lease_end"]),
        settled=int(record["settled"]) if "settled" in record else None,
        outcome=record.get("outcome"),
        interrupts=tuple(json.loads(record["interrupts"])),
        answer_id=record.get("answer_id"),
        digest=record.get("digest"),
    )
