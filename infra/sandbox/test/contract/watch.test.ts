/** Watches: where they start, how selectors filter changes, how they end. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { configMap, del, get, patch, pod, post, put } from "./requests.ts";
import type { Request, Target } from "./client.ts";
import { valueAt } from "./value-at.ts";

interface Event {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** All events of a watch that the server ends after a second, or sooner. */
async function eventsOf(send: Target["send"], query: string, plural = "configmaps"): Promise<readonly Event[]> {
  const { text } = await send(get(`${plural}?watch=true&timeoutSeconds=1${query}`));
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
    // The last matching state, at the revision of the change.
    for (const [left, before] of [y[2], x[0]].map((event, at) => [event?.object, at === 0 ? "y" : "x"]))
      expect(valueAt(left, "metadata.labels")).toEqual({ app: before });
    expect(valueAt(y[2]?.object, "data")).toEqual({ k: "v" });
    expect(valueAt(y[2]?.object, "metadata.resourceVersion")).toBe(valueAt(x[1]?.object, "metadata.resourceVersion"));
  });
  checks("carries the state and its resourceVersion", async (send) => {
    const from = await revisionOf(send);
    const changed = await send(patch("configmaps/a", "merge", { data: { k: "w" } }));
    const [event] = await eventsOf(send, `&resourceVersion=${from}`);
    expect(event?.object).toMatchObject(changed.body);
  });
  // A watch without a version sends initial events, with or without the option.
  for (const query of [
    "",
    "&resourceVersion=0",
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "&sendInitialEvents&resourceVersionMatch=NotOlderThan&resourceVersion=1",
  ]) {
    checks(`with bookmarks closes its initial events by one: ${query}`, async (send) => {
      const events = await eventsOf(send, `${query}&allowWatchBookmarks=true&labelSelector=app`);
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
      expect(valueAt(events[1]?.object, "metadata.annotations.[k8s.io/initial-events-end]")).toBe("true");
      expect(valueAt(events[1]?.object, "metadata.creationTimestamp")).toBe(undefined);
    });
  }
  for (const version of ["", "0", "999999999"]) {
    checks(`without initial events of "${version}" begins with what comes`, async (send) => {
      const query = "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
      expect(await eventsOf(send, `${query}&resourceVersion=${version}&labelSelector=app`)).toEqual([]);
    });
  }
  checks("of one object by its path is a read", async (send) => {
    expect((await send(get("configmaps/a?watch=1&timeoutSeconds=1"))).body).toMatchObject({ kind: "ConfigMap" });
  });
  checks("of the future is silent", async (send) => {
    expect(await eventsOf(send, "&resourceVersion=999999999")).toEqual([]);
  });
  checks("of no kind is not found", async (send) => {
    const { body } = await send(get("nothings?watch=1&timeoutSeconds=1"));
    expect(body).toMatchObject({ code: 404, message: "the server could not find the requested resource" });
  });
  checks("of one object by its name", async (send) => {
    expect(shown(await eventsOf(send, "&fieldSelector=metadata.name%3Da"))).toEqual(["ADDED a"]);
  });
});

async function eventsSince(send: Target["send"], plural: string, change: () => Promise<unknown>) {
  const from = await revisionOf(send);
  await change();
  return eventsOf(send, `&resourceVersion=${from}`, plural);
}

const graceOf = ({ object }: Event): unknown => valueAt(object, "metadata.deletionGracePeriodSeconds");

contract("what a watch sees of deletions", ({ checks, given }) => {
  for (const name of ["pending", "forced"]) given(`a pod: ${name}`, post("pods", pod(name)));
  given("a pod that runs somewhere", post("pods", pod("bound", { spec: { nodeName: "somewhere" } })));
  for (const [name, query] of [
    ["pending", ""],
    ["forced", "?gracePeriodSeconds=0"],
  ] as const) {
    checks(`a pod without time to terminate is seen to terminate: ${name}`, async (send) => {
      const events = await eventsSince(send, "pods", () => send(del(`pods/${name}${query}`)));
      expect(shown(events)).toEqual([`MODIFIED ${name}`, `DELETED ${name}`]);
      expect(events.map(graceOf)).toEqual([0, 0]);
    });
  }
  checks("a pod with time terminates, then is gone", async (send) => {
    const events = await eventsSince(send, "pods", async () => {
      await send(del("pods/bound"));
      await send(del("pods/bound?gracePeriodSeconds=0"));
    });
    expect(shown(events)).toEqual(["MODIFIED bound", "MODIFIED bound", "DELETED bound"]);
    expect(events.map(graceOf)).toEqual([30, 0, 0]);
  });
  given("an object with a finalizer", post("configmaps", configMap("f", { metadata: { finalizers: ["x.io/hold"] } })));
  checks("an object shows its last finalizer when it is gone", async (send) => {
    const events = await eventsSince(send, "configmaps", async () => {
      await send(del("configmaps/f"));
      await send(patch("configmaps/f", "merge", { metadata: { finalizers: null, labels: { late: "1" } } }));
    });
    expect(shown(events)).toEqual(["MODIFIED f", "DELETED f"]);
    const [marked, gone] = events.map(({ object }) => object);
    expect(valueAt(gone, "metadata.finalizers")).toEqual(["x.io/hold"]);
    expect(valueAt(gone, "metadata.labels")).toBe(undefined);
    const [before, after] = [marked, gone].map((object) => Number(valueAt(object, "metadata.resourceVersion")));
    expect(after).toBeGreaterThan(before!);
  });
});

contract("a write that changes nothing", ({ checks, given }) => {
  given("an object", post("configmaps", configMap("c", { metadata: { labels: {} }, data: { k: "v" } })));
  given("another's change", { ...patch("configmaps/c?fieldManager=other", "merge", { data: { l: "w" } }) });
  const writes: readonly (readonly [string, (current: unknown) => Request])[] = [
    ["merge patch", () => patch("configmaps/c", "merge", { data: { k: "v" } })],
    ["empty merge patch", () => patch("configmaps/c", "merge", {})],
    ["strategic patch", () => patch("configmaps/c", "strategic", { data: { l: "w" } })],
    ["JSON patch", () => patch("configmaps/c", "json", [{ op: "replace", path: "/data/k", value: "v" }])],
    ["a third one's patch", () => patch("configmaps/c?fieldManager=third", "merge", { data: { k: "v", l: "w" } })],
    ["PUT of what there is", (current) => put("configmaps/c", current)],
    [
      "PUT with empty labels",
      () =>
        put("configmaps/c", configMap("c", { metadata: { labels: {}, annotations: null }, data: { k: "v", l: "w" } })),
    ],
  ];
  for (const [title, write] of writes) {
    checks(`is none: ${title}`, async (send) => {
      const { body } = await send(get("configmaps/c"));
      const answer = await send(write(body));
      expect(answer.body, answer.text).toEqual(body);
      expect(await eventsOf(send, `&resourceVersion=${await revisionOf(send)}`)).toEqual([]);
    });
  }
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { m: "x" } };
  given("a configuration", patch("configmaps/c?fieldManager=applier", "apply", applied));
  checks("is none: the same configuration again", async (send) => {
    const { body } = await send(get("configmaps/c"));
    expect((await send(patch("configmaps/c?fieldManager=applier", "apply", applied))).body).toEqual(body);
  });
});
