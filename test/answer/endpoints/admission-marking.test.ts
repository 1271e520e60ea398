/**
 * Tests that Lifeboat changes the cluster before it answers an eviction, even if other clients change the cluster at
 * the same time. The mark of a VM is the VMI's evacuationNodeName.
 */
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

test("a first eviction creates an Evacuation and an Event, beside KubeVirt's mark", async () => {
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
  ["with dryRun in the request",       vmi(),  { request: { dryRun: true } }],
  ["with dryRun in the Eviction",      vmi(),  { eviction: { deleteOptions: { dryRun: ["All"] } } }],
  ["of a VM that would be shut down",  SHUT,   { request: { dryRun: true } }],
])("a dry run %s gets the same answer and writes nothing", async (_, web, tweak) => {
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
  // the change during the eviction, the request before which it happens, the answer, the mark after the eviction
  ["moved: its former pod is refused as a leftover",                  READ,       moving,                       LEFTOVER,       undefined],
  ["moves: it is not marked for its former node",                     WRITE,      moving,                       TRIGGERED,      undefined],
  ["was marked by another party: the mark stays",                     WRITE,      () => fake.setMark(WEB, NODE), TRIGGERED,     NODE],
  ["can no longer migrate: the eviction is refused without a mark",   READ,       pinning,                      NOT_MIGRATABLE, undefined],
  ["was deleted: the eviction is allowed",                            READ,       () => fake.vmis.delete(WEB),  allowance(),    undefined],
  ["was recreated: the eviction of the former pod is allowed",        READ,       anew,                         allowance(),    NODE],
  ["lost its pod: the eviction is allowed",                           /^get pods$/, () => fake.pods.delete(POD), allowance(),   undefined],
])("an eviction during which the VMI %s", async (...[, request, change, body, mark]) => {
  expect(await evict(evictionOf(POD), once(request, change))).toMatchObject({ body });
  expect(markOf()).toBe(mark);
});
