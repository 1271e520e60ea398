/** Tests the output, changes and exit codes of the command in a cluster with Lifeboat's shipped manifests. */
import { KubeConfig } from "@kubernetes/client-node";
import { load } from "js-yaml";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { kubeFetch } from "../../../infra/relay/kube-fetch.ts";
import { KUBEVIRT, kubeVirts } from "../../../infra/sandbox/index.ts";
import { type Stage, startStage } from "../stage.ts";
import { createVm, launcherOf, type Vm } from "../vm.ts";
import { connectTo } from "../../support/client.ts";
import { NodePreflight } from "../../support/cli/node-preflight.ts";
import { lifeboat, type Person } from "../../support/cli/lifeboat.ts";

let stage: Stage;
let [web, pinned]: Vm[] = [];
const jane = (): Person => ({ kubeconfig: stage.sandbox.kubeconfig });
const inMinutes = (): Person => ({ ...jane(), meanwhile: () => stage.tick() });
const call = (line: string, person: Person = jane()) => lifeboat(`${line} -n vms`, person);

beforeAll(async () => {
  stage = await startStage({ ticking: false });
  web = await createVm(stage, "web", { node: "node01" });
  pinned = await createVm(stage, "pinned", { node: "node02", migratable: false });
});
afterAll(() => stage.stop());

const advised = async () => (await call("explain node node01")).err.join("\n");

describe("explain node", () => {
  test("prints which VMs move, and which nodes have room", async () => {
    const { code, out, err } = await call("explain node node01");
    expect({ code, err, verdict: out[0] }).toEqual({
      code: 0,
      err: [],
      verdict: "√ WillSucceed: draining node01 will succeed: 1 VM moves, and no guest is shut down",
    });
    expect(out[1]).toMatch(/^ {2}about \d+s to \d+s for 1 VM \(/);
    expect(out.at(-1)).toMatch(/^vms +web +Moves +node0[23] +EvacuationTriggered$/);
  });

  test("warns if a NoExecute taint would end virt-handler before the VMs leave", async () => {
    const gated = (isOn: boolean) =>
      configureLifeboat(stage.client, { featureGates: { NoExecuteTaintEvictionLiveMigration: isOn } });
    const place = (nodePlacement: object | null) =>
      stage.client.patch(kubeVirts, KUBEVIRT.metadata, {
        type: "merge",
        body: { spec: { workloads: { nodePlacement } } },
      });
    await gated(true);
    expect(await advised()).toMatch(
      /^‼ virt-handler does not tolerate NoExecute taints[^]*\n +kubectl -n kubevirt patch kubevirt kubevirt --type merge -p '\{"spec":\{"workloads":[^]*HyperConverged/,
    );
    const [, change = "{}"] = /-p '(.*)'/.exec(await advised()) ?? [];
    await stage.client.patch(kubeVirts, KUBEVIRT.metadata, {
      type: "merge",
      body: z.looseObject({}).parse(JSON.parse(change)),
    });
    expect(await advised()).toBe("");
    await place(null);
    await gated(false);
    expect(await advised()).toBe("");
  });

  test("prints what blocks and who can change it, and exits with 3", async () => {
    const { code, out } = await call("explain node node02");
    expect(code).toBe(3);
    expect(out[0]).toMatch(/^× WillBlock: draining node02 will block/);
    expect(out.join("\n")).toMatch(/× VM vms\/pinned: .*not live-migratable.*\n {4}the VM's owner: /);
  });

  test("-o yaml prints the whole forecast", async () => {
    const { out } = await call("explain node node02 -o yaml");
    const { verdict, pods } = NodePreflight.parse(load(out.join("\n")));
    expect(verdict).toBe("WillBlock");
    const blocked = { vmi: "pinned", outcome: "Blocked", reason: "NotMigratable" };
    expect(pods).toContainEqual(expect.objectContaining(blocked));
  });

  test("given a node that does not exist, names the node and exits with 1", async () => {
    const said = expect.stringContaining('node "nowhere" not found');
    expect(await call("explain node nowhere")).toEqual({ code: 1, out: [], err: [said] });
  });
});

describe("plan", () => {
  test("prints a row for each node, what blocks and who can change it, and exits with the worst verdict's code", async () => {
    const { code, out, err } = await call("plan node01 node02");
    expect(code).toBe(3);
    expect(err).toContain("reading pods");
    expect(out.join("\n")).toMatch(/^node01 +\d\d:\d\d +1 +1 +.*WillSucceed \?1$/m);
    expect(out.join("\n")).toMatch(/^node02 +\d\d:\d\d.* +1 +0 +WillBlock$/m);
    expect(out.join("\n")).toMatch(/\n× VM vms\/pinned: .*\n +the VM's owner: /);
    expect(Math.max(...out.filter((line) => /^node/i.test(line)).map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  test("-o yaml prints a RollingMaintenance in the planned order, and the API server accepts it", async () => {
    const { code, out } = await call(
      "plan node02 node01 --order planned --at 2h --until 9h --when-blocked Restart -o yaml",
    );
    const printed = z.looseObject({ metadata: z.object({ name: z.string() }) }).parse(load(out.join("\n")));
    const config = new KubeConfig();
    config.loadFromString(stage.sandbox.kubeconfig);
    const cluster = connectTo({ server: stage.sandbox.url, fetch: kubeFetch(config) });
    const made = await cluster.create(
      "rollingmaintenances",
      { kind: "RollingMaintenance", ...printed },
      { dryRun: true },
    );
    expect({ code, made: made.code, ...printed }).toMatchObject({
      code: 3,
      made: 201,
      spec: {
        nodes: { names: ["node02", "node01"] },
        maxUnavailable: 1,
        template: { virtualMachines: { whenBlocked: "Restart" } },
      },
    });
  });

  test("-o json prints the nodes with their times, the evidence, and the facts that could not be read", async () => {
    const { out } = await call("plan node01 -o json");
    expect(JSON.parse(out.join("\n"))).toMatchObject({
      verdict: "WillSucceed",
      nodes: [{ node: "node01", moves: 1, starts: { least: 0 }, pods: [{ vmi: "web", outcome: "Moves" }] }],
      evidence: { classes: [{ proof: "Unproven" }] },
      unread: [],
    });
  });

  test("drain --dry-run of several nodes prints the same plan as the command plan, and creates nothing", async () => {
    const [planned, drained] = [
      await call("plan node01 node02 --at 22:00"),
      await call("drain node01 node02 --dry-run --at 22:00"),
    ];
    expect(drained).toMatchObject({ code: 3, out: planned.out });
    expect((await stage.client.list(nodeEvacuations)).items).toEqual([]);
  });

  test("given a node that does not exist, names the node and exits with 1", async () => {
    const { code, out, err } = await call("plan nowhere");
    expect({ code, out, said: err.at(-1) }).toEqual({
      code: 1,
      out: [],
      said: expect.stringContaining('node "nowhere" not found'),
    });
  });
});

test("explain pod prints the decision in one line and then the VM's fate, and -o json adds the facts", async () => {
  const pod = (await launcherOf(stage.client, "web")).metadata.name;
  const { code, out } = await call(`explain pod ${pod}`);
  expect([code, out[0]]).toEqual([
    0,
    `pod vms/${pod}: an eviction would be refused (429) while the VM moves away: EvacuationTriggered`,
  ]);
  expect(out).toContain("  VM vms/web, eviction strategy LiveMigrate");
  expect(out).toContain(
    "  the eviction starts an evacuation of the VM; the caller repeats the eviction until the VM has left",
  );
  expect(JSON.parse((await call(`explain pod ${pod} -o json`)).out.join("\n"))).toMatchObject({
    pod: `vms/${pod}`,
    decision: { allowed: false, reason: "EvacuationTriggered", code: 429 },
    facts: { vmi: { name: "web", strategy: "LiveMigrate" }, evacuations: [] },
  });
});

describe("evacuate, cancel, retry", () => {
  test("given no evacuation in progress, cancel exits with 1 and names the VM", async () => {
    const said = 'error: no evacuation of VM "web" in namespace "vms" is in progress';
    expect(await call("cancel -y vm/web")).toMatchObject({ code: 1, err: [said] });
  });

  test("given a running VM, evacuate --wait waits until the VM has moved, and prints only the name of the Evacuation", async () => {
    const { code, out, err } = await call("evacuate -y vm/web --wait", inMinutes());
    expect({ code, out }).toEqual({ code: 0, out: [expect.stringMatching(/^evacuation\.lifeboat\.dev\/web-.*-1$/)] });
    expect(err.at(-1)).toMatch(/^Moved – moved from node node01 to node node0[23]$/);
    const [evacuation] = (await web?.evacuations()) ?? [];
    expect(evacuation?.spec).toMatchObject({ cause: "Operator", requestedBy: "kubernetes-admin" });
  });

  test("evacuate joins an Evacuation in progress, and cancel ends the Evacuation", async () => {
    const evacuated = await call("evacuate -y pinned --no-wait");
    expect((await call("evacuate -y pinned --no-wait")).out).toEqual(evacuated.out);
    expect((await call("cancel -y vm/pinned", inMinutes())).code).toBe(0);
    expect(await pinned?.phases()).toEqual(["Withdrawn"]);
    expect((await pinned?.vmi())?.status?.evacuationNodeName).toBeUndefined();
  });

  test("given no failed Evacuation, retry names the newest Evacuation; given an unknown VM, evacuate names the VM", async () => {
    const { code, err } = await call("retry -y web");
    const said =
      /^error: no evacuation of VM "web" in namespace "vms" is BackingOff or Abandoned; its newest Evacuation, web-\S+, is Moved$/;
    expect({ code, err }).toEqual({ code: 1, err: [expect.stringMatching(said)] });
    expect((await call("evacuate nobody")).err).toEqual(['error: VM "nobody" does not run in namespace "vms"']);
  });

  test("given the drain taint, cancel says which taint to remove first", async () => {
    const [name] = (await call("evacuate -y pinned --no-wait")).out;
    const taints = [{ key: "kubevirt.io/drain", effect: "NoSchedule" }];
    const nodes = { apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false } as const;
    await stage.client.patch(nodes, { name: "node02" }, { type: "merge", body: { spec: { taints } } });
    const { code, err } = await call("cancel -y vm/pinned");
    expect({ code, err }).toEqual({
      code: 1,
      err: [expect.stringContaining("Remove the taint first: kubectl taint node node02 kubevirt.io/drain-")],
    });
    await stage.client.patch(nodes, { name: "node02" }, { type: "merge", body: { spec: { taints: null } } });
    expect((await call("cancel -y vm/pinned", inMinutes())).out).toEqual([`${name} withdrawn`]);
  });

  test("given that Lifeboat does not run, evacuate reports the wait and gives up after 90 s, and the Evacuation stays", async () => {
    await stage.stopWorker();
    const { code, err } = await call("evacuate -y pinned");
    expect({ code, err }).toEqual({
      code: 1,
      err: [
        "waiting for Lifeboat, which acts only once a minute if no relay is installed …",
        expect.stringContaining(
          "Lifeboat has not reacted for 90 s. Check with `lifeboat doctor` whether Lifeboat runs.",
        ),
      ],
    });
    expect((await pinned?.phases())?.at(-1)).toBeUndefined();
    await stage.restartWorker();
    expect((await call("cancel -y vm/pinned", inMinutes())).code).toBe(0);
  });

  test("given a VM that cannot migrate, evacuate prints the reason at once and exits with 1", async () => {
    const { code, err } = await call("evacuate -y pinned", inMinutes());
    expect({ code, end: err.at(-1) }).toEqual({
      code: 1,
      end: expect.stringMatching(/^Abandoned \(.+\) – the VM is not live-migratable: /),
    });
    const again = await call("retry -y pinned", inMinutes());
    expect(again).toMatchObject({ code: 1, out: [expect.stringMatching(/^evacuation\.lifeboat\.dev\/pinned-/)] });
    expect((await pinned?.phases())?.slice(-2)).toEqual(["Abandoned", "Abandoned"]);
  });
});
