/** Watches: where they start, what selectors make of changes, how they end. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, del, get, patch, post } from "./requests.ts";
import type { Target } from "./client.ts";
import { valueAt } from "./value-at.ts";

interface Event {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** All events of a watch that the server ends after a second, or sooner. */
async function eventsOf(send: Target["send"], query: string): Promise<readonly Event[]> {
  const { text } = await send(get(`configmaps?watch=true&timeoutSeconds=1${query}`));
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Event => JSON.parse(line));
}

const shown = (events: readonly Event[]): readonly string[] =>
  events.map(({ type, object }) => `${type} ${String(valueAt(object, "metadata.name"))}`);

async function revisionOf(send: Target["send"]): Promise<string> {
  return String(valueAt((await send(get("configmaps"))).body, "metadata.resourceVersion"));
}

contract("a watch", ({ checks, given }) => {
  given("an object", post("configmaps", configMap("a", { metadata: { labels: { app: "x" } } })));
  checks("without a resourceVersion begins with what there is", async (send) => {
    expect(shown(await eventsOf(send, "&labelSelector=app"))).toEqual(["ADDED a"]);
  });
  checks("from a resourceVersion on tells what has happened since", async (send) => {
    const from = await revisionOf(send);
    await send(post("configmaps", configMap("b")));
    await send(patch("configmaps/b", "merge", { data: { k: "v" } }));
    await send(del("configmaps/b"));
    expect(shown(await eventsOf(send, `&resourceVersion=${from}`))).toEqual(["ADDED b", "MODIFIED b", "DELETED b"]);
  });
  checks("sees an object come and go as its labels change", async (send) => {
    const from = await revisionOf(send);
    await send(patch("configmaps/a", "merge", { metadata: { labels: { app: "y" } } }));
    await send(patch("configmaps/a", "merge", { data: { k: "v" } }));
    await send(patch("configmaps/a", "merge", { metadata: { labels: { app: "x" } } }));
    const y = await eventsOf(send, `&resourceVersion=${from}&labelSelector=app%3Dy`);
    expect(shown(y)).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
    const x = await eventsOf(send, `&resourceVersion=${from}&labelSelector=app%3Dx`);
    expect(shown(x)).toEqual(["DELETED a", "ADDED a"]);
  });
  checks("carries the state and its resourceVersion", async (send) => {
    const from = await revisionOf(send);
    const changed = await send(patch("configmaps/a", "merge", { data: { k: "w" } }));
    const [event] = await eventsOf(send, `&resourceVersion=${from}`);
    expect(event?.object).toMatchObject(changed.body);
  });
  checks("asked for initial events closes them by a bookmark", async (send) => {
    const query =
      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=app";
    const events = await eventsOf(send, query);
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(valueAt(events[1]?.object, "metadata.annotations.[k8s.io/initial-events-end]")).toBe("true");
  });
  checks("of one object by its name", async (send) => {
    expect(shown(await eventsOf(send, "&fieldSelector=metadata.name%3Da"))).toEqual(["ADDED a"]);
  });
});
