/** Lifeboat dies before or after any of its writes: the next function finds what is done, and what was asked for comes about. */
import { describe, expect, test } from "vitest";
import type { Asked } from "../../support/asked.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { at, textOf } from "../../support/json.ts";
import { object } from "../../support/objects.ts";
import { node, NODE, PINNED } from "../../support/fixtures.ts";
import { launcher, node as roomy, vmiOf } from "../../support/preflight/fixtures.ts";

type Death = "before" | "after";

interface Run {
  readonly fake: FakeCluster;
  /** Writes of the function that died; fewer than asked for: it did not. */
  readonly writes: number;
  /** UIDs of the VMIs that KubeVirt was asked to restart. */
  readonly restarts: readonly string[];
}

const KEY = { name: "kernel" };
const LIVES = 12;

function created(spec: object): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(roomy(NODE), roomy("node02"));
  for (const name of ["web", "db"]) {
    fake.vmis.put(vmiOf(name, name === "db" ? PINNED : {}));
    fake.pods.put(launcher(name));
    const metadata = { namespace: "apps", name, uid: `vm-${name}`, resourceVersion: "1" };
    fake.api.put("virtualmachines", { metadata, spec: { runStrategy: "Always" }, status: {} });
  }
  const metadata = { ...KEY, uid: "uid-of-kernel", resourceVersion: "1", creationTimestamp: "2026-03-01T11:00:00Z" };
  fake.api.put("nodeevacuations", { metadata, spec: object({ nodeName: NODE, ...spec }), status: {} });
  return fake;
}

/** What KubeVirt does between two functions: marked VMs migrate, restarted ones come up. */
function kubevirt(fake: FakeCluster, restarted: ReadonlySet<string>): void {
  for (const vmi of fake.vmis.list(({ nodeName }) => nodeName === NODE)) {
    const isRestarted = restarted.has(vmi.uid);
    if (vmi.evacuationNodeName !== NODE && !isRestarted) continue;
    const uid = isRestarted ? `${vmi.uid}-again` : vmi.uid;
    const pod = launcher(vmi.name, { uid: `pod-${vmi.name}-2`, nodeName: "node02" });
    fake.pods.delete(launcher(vmi.name));
    fake.pods.put({ ...pod, name: `${pod.name}-2` });
    const { evacuationNodeName: _, ...rest } = vmi;
    fake.vmis.put({ ...rest, uid, nodeName: "node02", activePods: { [pod.uid]: "node02" } });
  }
}

const phaseOf = (fake: FakeCluster) => textOf(at(fake.api.object("nodeevacuations", KEY), "status", "phase"));

function die(now: boolean): void {
  if (now) throw new TypeError("dead");
}

/** Dies at that write of its first life, before or after it is done, and asks nothing more in it. */
function dying([n, death]: readonly [number, Death]) {
  let [life, writes] = [0, 0];
  const isDying = () => life === 0 && writes >= n;
  return {
    writes: () => writes,
    bear: () => void (life += 1),
    write<T>(work: () => T): T {
      die(isDying());
      writes += life === 0 ? 1 : 0;
      die(isDying() && death === "before");
      const done = work();
      die(isDying());
      return done;
    },
  };
}

/** `until`: a phase. */
async function run(spec: object, death: readonly [number, Death], until: string): Promise<Run> {
  const fake = created(spec);
  const restarts: string[] = [];
  const lives = dying(death);
  const answerTo = (asked: Asked) => {
    if (asked.subresource !== "restart") return fake.api.answer(asked);
    restarts.push(fake.vmis.get(asked)?.uid ?? "");
    return { code: 202, body: {} };
  };
  const doors = openFakeDoors(fake, (_, asked) => {
    if (asked === undefined || asked.verb === "get" || asked.verb === "list") return undefined;
    const { code, body } = lives.write(() => answerTo(asked));
    return new Response(JSON.stringify(body), { status: code });
  });
  for (let life = 0; life < LIVES && phaseOf(fake) !== until; life++) {
    await doors.reconcile();
    await doors.settle();
    kubevirt(fake, new Set(restarts));
    doors.pass(61);
    lives.bear();
  }
  return { fake, writes: lives.writes(), restarts };
}

const ends = ({ fake }: Run) => fake.evacuations.list().map(({ spec, status }) => `${spec.vmiName} ${status.phase}`);

async function everyDeath(spec: object, until: string, check: (result: Run) => void): Promise<number> {
  for (let n = 1; ; n++) {
    for (const death of ["before", "after"] as const) {
      const result = await run(spec, [n, death], until);
      expect([n, death, phaseOf(result.fake)]).toEqual([n, death, until]);
      check(result);
      if (result.writes < n) return n;
    }
  }
}

describe("any death between two writes leaves nothing wrong", () => {
  test("VMs move and restart, each once, and the node is empty", async () => {
    const spec = { virtualMachines: { whenBlocked: "Restart" } };
    const deaths = await everyDeath(spec, "Evacuated", (result) => {
      expect(ends(result).toSorted()).toEqual(["db Restarted", "web Moved"]);
      expect(result.restarts).toEqual(["vmi-db"]);
      expect(result.fake.nodes.get({ name: NODE })).toMatchObject({
        unschedulable: true,
        cordonedBy: "kernel/uid-of-kernel",
      });
    });
    expect(deaths).toBeGreaterThan(4);
  });

  test("refused, the node is schedulable again", async () => {
    const deaths = await everyDeath({ startIf: "WillSucceed" }, "Refused", (result) => {
      expect(ends(result)).toEqual([]);
      expect(result.fake.nodes.get({ name: NODE })).toEqual(node({ name: NODE }));
    });
    expect(deaths).toBeGreaterThan(2);
  });
});
