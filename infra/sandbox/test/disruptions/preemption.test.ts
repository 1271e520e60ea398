/** Tests preemption, as observed on Kubernetes 1.36: the victims, the messages and the requests. */
import { describe, expect, test } from "vitest";
import { events, nodes, type Pod } from "../../actors/resources.ts";
import { createNode } from "../../fleet.ts";
import { GRACE, isRunning, MESSAGE, namespace, saying, useFullNode } from "./full-node.ts";
import { disruptionTarget } from "./gate.ts";

const stage = useFullNode();
const askedFor = () => stage.gate.asked().map(({ name }) => name);

describe("a pod that fits nowhere", () => {
  test("gets a nominated node, and waits until its victim is gone; the victim gets an Event", async () => {
    await stage.occupy(["victim", "low"]);
    stage.gate.answer("hold");
    const { metadata } = await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await expect.poll(() => stage.gate.held()).toBe(1);
    const [asked] = stage.gate.asked();
    expect(asked).toMatchObject({
      user: "system:kube-scheduler",
      name: "victim",
      object: null,
      options: { gracePeriodSeconds: GRACE },
    });
    expect(disruptionTarget(asked?.oldObject)).toMatchObject({
      status: "True",
      reason: "PreemptionByScheduler",
      message: MESSAGE,
    });
    await stage.until("important", ({ status }) => status?.nominatedNodeName === "full");

    stage.gate.release("allow");
    await stage.until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await stage.until("important", saying("preemption: not eligible due to a terminating pod on the nominated node."));
    expect((await stage.get("important"))?.status).toMatchObject({ phase: "Pending", nominatedNodeName: "full" });
    stage.world.clock.advance(GRACE * 1_000);
    const bound = await stage.until("important", isRunning);
    expect(bound.spec?.nodeName).toBe("full");
    expect(bound.status).not.toHaveProperty("nominatedNodeName");
    expect(stage.gate.asked()).toHaveLength(1);

    const fieldSelector = "involvedObject.name=victim,reason=Preempted";
    const { items } = await stage.world.sandbox.client.list(events, namespace, { fieldSelector });
    const message = `Preempted by pod ${metadata.uid} on node full`;
    expect(items).toEqual([expect.objectContaining({ type: "Normal", message, count: 1 })]);
  });

  test("waits without preemption if no pod has a lower priority, or if its preemptionPolicy is Never", async () => {
    await stage.occupy(["equal", "high"]);
    await stage.place("full", { name: "another", priorityClassName: "high", memory: "1Gi" });
    await stage.place("full", { name: "polite", priorityClassName: "polite", memory: "1Gi" });
    const futile =
      "0/2 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector. " +
      "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, " +
      "1 Preemption is not helpful for scheduling.";
    const another = await stage.until("another", saying(futile));
    const polite = await stage.until("polite", saying("preemption: not eligible due to preemptionPolicy=Never."));
    for (const { status } of [another, polite]) expect(status).not.toHaveProperty("nominatedNodeName");
    expect(stage.gate.asked()).toEqual([]);
  });

  test("gets its victim's room, although a pod of lower priority waits for the same room", async () => {
    await stage.occupy(["victim", "low"]);
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
    await stage.until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await stage.place("full", { name: "greedy", priorityClassName: "middle", memory: "8Gi" });
    await stage.until("greedy", ({ status }) => status?.conditions?.[0]?.reason === "Unschedulable");
    stage.world.clock.advance(GRACE * 1_000);
    await stage.until("important", isRunning);
    expect((await stage.get("greedy"))?.status?.phase).toBe("Pending");
  });
});

test("a nominated pod loses its nomination to a pod of higher priority", async () => {
  await stage.occupy(["victim", "low"]);
  stage.gate.answer("hold");
  await stage.place("full", { name: "first", priorityClassName: "middle", memory: "8Gi" });
  await stage.until("first", ({ status }) => status?.nominatedNodeName === "full");
  await stage.place("full", { name: "important", priorityClassName: "high", memory: "8Gi" });
  await stage.until("important", ({ status }) => status?.nominatedNodeName === "full");
  await stage.until("first", ({ status }) => status?.nominatedNodeName === undefined);
  await expect.poll(() => stage.gate.held()).toBe(2);
  stage.gate.answer("allow");
  stage.gate.release("allow");
  await stage.until("victim", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await stage.until("important", saying("not eligible due to a terminating pod on the nominated node."));
  stage.world.clock.advance(GRACE * 1_000);
  await stage.until("important", isRunning);
  expect((await stage.get("first"))?.status?.phase).toBe("Pending");
});

describe("several victims", () => {
  test("are deleted together, except the youngest victim of lowest priority, which is deleted afterwards", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"], ["c", "low"]);
    stage.gate.answer("hold");
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "12Gi" });
    await expect.poll(() => stage.gate.held()).toBe(2);
    expect(askedFor().toSorted()).toEqual(["a", "b"]);
    expect(disruptionTarget(await stage.get("c"))).toBeUndefined();
    stage.gate.release("allow");
    await expect.poll(askedFor).toContain("c");
    expect(askedFor()).toHaveLength(3);
    stage.gate.release("allow");
    await stage.until("important", saying("not eligible due to a terminating pod on the nominated node."));
  });

  test("are not deleted if one deletion is denied, because the scheduler then cancels the other deletions and spares the last victim", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"], ["c", "low"]);
    stage.gate.answer("hold");
    await stage.place("full", { name: "important", priorityClassName: "high", memory: "12Gi" });
    await expect.poll(() => stage.gate.held()).toBe(2);
    stage.gate.release("deny", "b");
    // The scheduler has cancelled its first request for `a`.
    await expect.poll(() => askedFor().toSorted()).toEqual(["a", "a", "b", "b"]);
    await expect.poll(() => stage.gate.held()).toBe(2);
    expect((await stage.get("a"))?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("a group of pods that fits nowhere", () => {
  test("has victims on several nodes; all except the last are deleted together, and the last one afterwards", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"]);
    const { client } = stage.world.sandbox;
    await createNode(client, "full-2", { memory: "12Gi" });
    for (const name of ["c", "d"]) {
      await stage.place("full-2", { name, priorityClassName: "low", memory: "6Gi" });
      await stage.until(name, isRunning);
      stage.world.clock.advance(1_000);
    }
    stage.gate.answer("hold");
    const pod = { priorityClassName: "high", memory: "12Gi", podGroup: "gang" };
    await stage.place("full", { name: "gang-1", ...pod });
    await stage.until("gang-1", saying("not eligible as a group of one pod."));
    expect(stage.gate.asked()).toEqual([]);
    await stage.place("full-2", { name: "gang-2", ...pod });
    await expect.poll(() => stage.gate.held()).toBe(3);
    expect(askedFor().toSorted()).toEqual(["a", "b", "c"]);
    const message = "default-scheduler: preempting to accommodate a higher priority podgroup";
    for (const { oldObject } of stage.gate.asked()) {
      expect(disruptionTarget(oldObject)).toMatchObject({ reason: "PreemptionByScheduler", message });
    }
    expect(disruptionTarget(await stage.get("d"))).toBeUndefined();
    stage.gate.release("allow");
    await expect.poll(askedFor).toContain("d");
    stage.gate.answer("allow");
    stage.gate.release("allow");
    await stage.world.pass(async () =>
      (await Promise.all(["gang-1", "gang-2"].map((name) => stage.get(name)))).every(isBound),
    );
    expect(stage.gate.asked()).toHaveLength(4);
    await client.delete(nodes, { name: "full-2" });
  });

  test("preempts no pod if deletions would not make room for the whole group", async () => {
    await stage.occupy(["a", "middle"], ["b", "low"]);
    const pod = { priorityClassName: "high", podGroup: "gang" };
    await stage.place("full", { name: "gang-1", memory: "12Gi", ...pod });
    await stage.place("full", { name: "gang-2", memory: "12Gi", ...pod });
    const futile = saying("preemption: No preemption victims found for incoming preemptor");
    for (const name of ["gang-1", "gang-2"]) await stage.until(name, futile);
    expect(stage.gate.asked()).toEqual([]);
  });
});

function isBound(pod: Pod | undefined): boolean {
  return pod?.spec?.nodeName !== undefined;
}
