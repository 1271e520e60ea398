/** An eviction changes the cluster before it is answered, even if the cluster changes meanwhile. */
import { beforeEach, expect, test } from "vitest";
import * as z from "zod/mini";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { FakeCluster, once } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { MOBILITY, NODE, pod, POD_NAME, POD_UID, vmi } from "../../support/fixtures.ts";
import { allowance, evictionOf, evictionReview, refusal, type Tweaks } from "../../support/reviews.ts";

const WEB = { namespace: "apps", name: "web" };
const POD = { namespace: "apps", name: POD_NAME };
const TRIGGERED = refusal('Eviction triggered evacuation of VMI "apps/web"');

let fake: FakeCluster;
beforeEach(() => use(vmi()));

function use(web: VmiFacts): void {
  fake = new FakeCluster();
  fake.configure({ disruptionBudgets: "Never" });
  fake.pods.put(pod());
  fake.vmis.put(web);
}

const markOf = () => fake.vmis.get(WEB)?.evacuationNodeName;
/** Everything that Lifeboat might write. */
const world = () => {
  const { vmis, evacuations, migrations, pods, budgets } = fake;
  const objects = [vmis.list(), evacuations.list(), migrations.list(), pods.list(), budgets.list()];
  return structuredClone([...objects, fake.recordedEvents]);
};

async function evict(review: unknown = evictionOf(POD), before?: (request: string) => unknown) {
  const app = openApp(fake, before);
  const answer = await app.evict(review);
  await app.settle();
  return answer;
}

const reviewOf = ({ request, eviction }: Tweaks) =>
  evictionReview({ request: { ...POD, ...request }, eviction: { metadata: POD, ...eviction } });

test("a first eviction writes an Evacuation beside KubeVirt's mark, and tells of it", async () => {
  const answer = await evict(reviewOf({ request: { userInfo: { username: "drainer" } } }));
  expect(answer).toMatchObject({ code: 200, body: TRIGGERED });
  expect(markOf()).toBe(NODE);
  const name = expect.stringMatching(/^web-[0-9a-f]{8}-1$/);
  const guest = { name: POD_NAME, uid: POD_UID };
  const spec = { cause: "ApiEviction", requestedBy: "drainer", intent: "Evacuate", pod: guest };
  expect(fake.evacuations.list()).toMatchObject([{ name, spec }]);
  expect(fake.recordedEvents.map(({ reason }) => reason)).toEqual(["EvacuationTriggered"]);
});

const SHUT = vmi({ evictionStrategy: "LiveMigrateIfPossible", liveMigratable: MOBILITY.pinned });

const Said = z.object({
  response: z.looseObject({
    warnings: z.optional(z.array(z.string())),
    status: z.optional(z.looseObject({ message: z.string() })),
  }),
});

// prettier-ignore
test.each<[string, VmiFacts, Tweaks]>([
  ["of the request",   vmi(),  { request: { dryRun: true } }],
  ["of the Eviction",  vmi(),  { eviction: { deleteOptions: { dryRun: ["All"] } } }],
  ["a shutdown",       SHUT,   { request: { dryRun: true } }],
])("a dry run gets the same answer and writes nothing: %s", async (_, web, tweak) => {
  use(web);
  const before = world();
  const dry = await evict(reviewOf(tweak));
  expect(world()).toEqual(before);
  const { response } = Said.parse((await evict()).body);
  const words = `Lifeboat answers: ${response.status?.message ?? "allowed"}`;
  expect(dry.body).toMatchObject({ response: { ...response, warnings: [words, ...(response.warnings ?? [])] } });
  expect(world()).not.toEqual(before);
});

const READ = /^get virtualmachineinstances$/;
const WRITE = /^create evacuations$/;
const LEFTOVER = refusal('Eviction request for target Pod: VMI "apps/web" is on node "node02"');
const NOT_MIGRATABLE = refusal(expect.stringContaining("not live-migratable"));

const moving = () => fake.change(WEB, { nodeName: "node02" });
const pinning = () => fake.change(WEB, { liveMigratable: MOBILITY.pinned });
const anew = () => fake.vmis.put(vmi({ uid: "another", activePods: { "another-pod": NODE } }));

// prettier-ignore
test.each<[string, RegExp, change: () => void, body: unknown, mark: string | undefined]>([
  //                                                     before      then                          the answer      its mark
  ["has moved by then: its old pod is a leftover",       READ,       moving,                       LEFTOVER,       undefined],
  ["moves: it is not marked for the node it has left",   WRITE,      moving,                       TRIGGERED,      undefined],
  ["is marked by another party: the mark stays",         WRITE,      () => fake.setMark(WEB, NODE), TRIGGERED,     NODE],
  ["can no longer be moved: refused, and not marked",    READ,       pinning,                      NOT_MIGRATABLE, undefined],
  ["is deleted: nothing to stop",                        READ,       () => fake.vmis.delete(WEB),  allowance(),    undefined],
  ["is made anew: the new one is not the old pod's",     READ,       anew,                         allowance(),    NODE],
  ["loses its pod: nothing to stop",                     /^get pods$/, () => fake.pods.delete(POD), allowance(),   undefined],
])("between read and write, the VMI %s", async (...[, request, change, body, mark]) => {
  expect(await evict(evictionOf(POD), once(request, change))).toMatchObject({ body });
  expect(markOf()).toBe(mark);
});
