/** The fake cluster keeps what the sandbox's API server keeps, on the same conditions: the same requests, the same answers. */
import { activeEvacuations, evacuationsOf } from "../../../shared/kube/selections.ts";
import { act as performAction, retry, withdraw } from "../../../shared/evacuation/act.ts";
import { budgetName } from "../../../shared/budget/budget.ts";
import { CREATED_BY_LABEL } from "../../../shared/kube/names.ts";
import { expect, test } from "vitest";
import type { Client } from "../../../shared/kube/client.ts";
import { isHeld } from "../../../shared/kube/lease.ts";
import { type DeschedulingClient, LEASE_SECONDS } from "../../../shared/descheduling/client.ts";
import { Launcher } from "../../../shared/kube/schemas/kubernetes.ts";
import { LAUNCHER, OURS } from "../../../shared/kube/selections.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import {
  connectTo as connectOverHttp,
  deschedulingAt as deschedulingOverHttp,
  present,
} from "../../support/kube/connected.ts";
import { NAMESPACE, startTestCluster } from "../../support/test-cluster.ts";
import { newborn, NOW, without } from "../../support/fixtures.ts";
import { connectDescheduling, connectTo } from "../../support/fake-cluster/connect.ts";
import { FakeCluster } from "../../support/fake-cluster/fake-cluster.ts";

const WEB = { namespace: NAMESPACE, name: "web" };

interface Party {
  readonly cluster: Client;
  readonly descheduling: DeschedulingClient;
  /** What KubeVirt does meanwhile. */
  readonly moveTo: (nodeName: string) => unknown;
}

/** Each answer, in order. */
async function told({ cluster, descheduling, moveTo }: Party): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  const act = async (...actions: readonly Action[]) => {
    for (const action of actions) answers.push([action.verb, await performAction(action, { cluster, now: () => NOW })]);
  };
  const vmi = async () => present(await cluster.get("virtualmachineinstances", WEB));
  const own = async () => present((await evacuationsOf(WEB, cluster))[0]);
  answers.push(await cluster.count("virtualmachineinstances"));
  const seen = await vmi();
  const mark = { verb: "Mark", vmi: seen, forDescheduler: true } as const;
  await act({ verb: "Label", vmi: seen, urgency: "urgent" }, mark, mark);
  answers.push(shown(await vmi()));
  const marked = await vmi();
  await moveTo("node02");
  await act({ verb: "Unmark", vmi: marked }, { ...mark, vmi: marked });
  const moved = await vmi();
  await act({ verb: "Unmark", vmi: moved }, { verb: "Unmark", vmi: { ...moved, name: "gone" } });
  answers.push(shown(await vmi()));

  const { name, spec } = newborn();
  const evacuation = { ...WEB, name, spec };
  const creation = { verb: "CreateEvacuation", evacuation } as const;
  const another = { ...evacuation, spec: { ...spec, pod: { uid: "another" } } };
  await act(creation, creation, { ...creation, evacuation: another });
  const [before, status] = [await own(), { ...(await own()).status, phase: "Moved", reason: "Moved" } as const];
  await act({ verb: "WriteStatus", evacuation: before, status }, { verb: "WriteStatus", evacuation: before, status });
  await act(creation, { verb: "DeleteEvacuation", evacuation: { ...before, uid: "another" } });
  answers.push(await withdraw(await own(), cluster), shown(await own()), await activeEvacuations(cluster));
  await act({ verb: "DeleteEvacuation", evacuation: before }, { verb: "DeleteEvacuation", evacuation: before });
  answers.push(await withdraw(before, cluster));

  const next = { ...evacuation, name: "next" };
  const nextOne = async () => present((await evacuationsOf(WEB, cluster)).find(({ name }) => name === "next"));
  await act({ verb: "CreateEvacuation", evacuation: next });
  const early = await nextOne();
  answers.push(await retry(early, NOW, cluster));
  await act({ verb: "WriteStatus", evacuation: early, status: { ...early.status, phase: "BackingOff" } });
  answers.push(await retry(await nextOne(), NOW, cluster), (await nextOne()).spec.retryAt);

  const create = { verb: "CreateBudget", vmi: seen } as const;
  await act(create, create);
  const budget = present(await cluster.get("poddisruptionbudgets", { namespace: NAMESPACE, name: budgetName(seen) }));
  answers.push(
    (await cluster.list("poddisruptionbudgets", { namespace: NAMESPACE, labels: OURS })).map(
      ({ minAvailable, owners }) => [minAvailable, owners],
    ),
  );
  await act({ verb: "DeleteBudget", budget: { ...budget, uid: "another" } }, { verb: "DeleteBudget", budget });
  await act({ verb: "DeleteBudget", budget });

  const migration = { verb: "CreateMigration", vmi: seen, name: "m", evacuation } as const;
  await act(migration, migration);

  const [pod] = await cluster.list("pods", { labels: LAUNCHER, as: Launcher });
  const annotate = { verb: "AnnotatePod", pod: present(pod), add: { "lifeboat.dev/a": "1" }, remove: [] } as const;
  await act(annotate, annotate);

  const lease = await descheduling.getLease();
  const taken = await descheduling.takeLease(lease, NOW);
  answers.push(await descheduling.takeLease(lease, NOW));
  if (taken === "Conflict") throw new Error("another one holds the Lease");
  const { holder, acquiredAt = "", seconds } = taken;
  answers.push(holder, Date.parse(acquiredAt), seconds);
  answers.push(await descheduling.takeLease({ resourceVersion: "0" }, NOW));
  answers.push(await descheduling.giveLeaseBack(taken), await descheduling.giveLeaseBack(taken));
  answers.push(isHeld(await descheduling.getLease(), LEASE_SECONDS, NOW));
  return answers;
}

/** Without what differs from one cluster to another. */
function shown(object: VmiFacts | EvacuationFacts): object {
  if (!("spec" in object)) return without(object, "uid", "resourceVersion", "activePods");
  return without(object, "uid", "resourceVersion", "createdAt");
}

test("the same requests get the same answers", async () => {
  const real = await startTestCluster([
    "optional/descheduler-support/descheduler-support.yaml",
    "optional/descheduling/descheduling.yaml",
  ]);
  await real.createVm({ name: "web", strategy: "LiveMigrate" });
  const { server, token } = real.entry;
  const [cluster, descheduling] = [connectOverHttp({ server, token }), deschedulingOverHttp({ server, token })];
  const fake = new FakeCluster();
  fake.vmis.put(present(await cluster.get("virtualmachineinstances", WEB)));
  const { uid } = present(await cluster.get("virtualmachineinstances", WEB));
  fake.pods.put(...(await cluster.list("pods", { namespace: NAMESPACE, labels: { [CREATED_BY_LABEL]: uid } })));
  const moveTo = (nodeName: string) => real.patchVmi("web", { status: { nodeName } });
  const expected = await told({ cluster, descheduling, moveTo });
  const faked = { cluster: connectTo(fake), descheduling: connectDescheduling(fake) };
  expect(await told({ ...faked, moveTo: (nodeName) => fake.change(WEB, { nodeName }) })).toEqual(expected);
  await real.stop();
});
