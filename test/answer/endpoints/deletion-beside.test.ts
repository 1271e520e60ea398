/** What marking a VM whose deletion is refused does not depend on: its Evacuation. */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { VirtualClock } from "../../support/clock.ts";
import { type Before, FakeCluster } from "../../support/fake-cluster.ts";
import { NOW, node, pod, time, vmi } from "../../support/fixtures.ts";
import { MAINTENANCE, TAINT_CONTROLLER } from "../../support/guard/disruptions.ts";
import { type FakeDoors, objectOf, openFakeDoors } from "../../support/fake-doors.ts";
import { deletionOf } from "../../support/reviews.ts";

const TIMEOUT_SECONDS = 10;
const WEB = { namespace: "apps", name: "web" };
const preempted = pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since: time(0) } });

let fake: FakeCluster;
let doors: FakeDoors | undefined;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true } });
  fake.nodes.put(node());
  fake.vmis.put(vmi());
  fake.pods.put(preempted);
});
afterEach(async () => {
  await doors?.settle();
  await setImmediate();
});

const at = () => doors?.now() ?? NOW;
const elapsed = () => (at().getTime() - NOW.getTime()) / 1000;

async function ask(before: Before, deletion = deletionOf(objectOf(preempted))) {
  const clock = new VirtualClock(NOW);
  doors = openFakeDoors(fake, before, { clock });
  const answer = await clock.outcome(doors.delete(deletion));
  return { ...answer, seconds: elapsed() };
}

/** By the name of the request. */
type Sick = (request: string) => boolean;
const anyList: Sick = (request) => request.startsWith("list evacuations");
const creating: Sick = (request) => request === "create evacuations";
const budgets: Sick = (request) => request.endsWith("poddisruptionbudgets");
/** Until the connection ends. */
const hanging =
  (isSick: Sick): Before =>
  (request) =>
    isSick(request) ? new Promise(() => undefined) : undefined;
const refusing = (code: number): ClusterError => new ClusterError({ reason: "Refused", code, request: "the request" });

describe("a VM whose deletion is refused is marked, whatever happens beside it", () => {
  // prettier-ignore
  test.each<[string, Sick, ClusterError, begun: number]>([
    ["no Evacuation may be listed",                    anyList,     refusing(403),                                1],
    ["… they are too many",                            anyList,     new ClusterError({ reason: "TooLarge", request: "GET" }), 1],
    ["a quota or a policy refuses its Evacuation",     creating,    refusing(403),                                0],
    ["its namespace is ending",                        creating,    refusing(403),                                0],
    ["its Evacuation is found invalid",                creating,    refusing(422),                                0],
    ["no kind Evacuation is served",                   (asked) => anyList(asked) || creating(asked), refusing(404), 0],
  ])("%s", async (_, isSick, error, begun) => {
    const answer = await ask((request) => {
      if (isSick(request)) throw error;
    });
    expect(answer).toMatchObject({ body: { response: { allowed: false } } });
    expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe("node01");
    expect(fake.evacuations.list(({ spec }) => spec.vmiName === "web")).toHaveLength(begun);
  });

  test.each<[string, Sick]>([
    ["to list its Evacuations", anyList],
    ["to create its Evacuation", creating],
    ["to read its budget", budgets],
  ])("the API server takes for ever: %s", async (_, isSick) => {
    const answer = await ask(hanging(isSick));
    expect(answer).toMatchObject({ body: { response: { allowed: false } } });
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS);
    expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe("node01");
  });
});

/** What Kubernetes does while the taint manager's client still asks again. */
test.each([
  ["refused", -179, false],
  ["allowed", -181, true],
])("its Evacuations cannot be listed, and the pod's condition was reset: %s", async (_, reset, allowed) => {
  fake.configure({ featureGates: { NoExecuteTaintEvictionLiveMigration: true } });
  fake.nodes.put(node({ taints: [MAINTENANCE] }));
  const tainted = pod({ disruptionTarget: { active: false, since: time(reset) } });
  fake.pods.put(tainted);
  const answer = await ask(
    hanging(anyList),
    deletionOf(objectOf(tainted), { userInfo: { username: TAINT_CONTROLLER } }),
  );
  expect(answer).toMatchObject({ body: { response: { allowed } } });
});
