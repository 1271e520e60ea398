/**
 * A real descheduler beside Lifeboat: what its evictor makes of each answer, by its own rules. It counts an eviction as going on
 * in background if the pod carries `request-evict-only`, the code is 429 and the text contains what it looks for; it counts
 * it until `eviction-in-progress` has come and gone.
 */
import { expect, test } from "vitest";
import { type Pod, pods, waitFor } from "../../infra/sandbox/index.ts";
import { createVms, startDeschedulingStage } from "./descheduling-stage.ts";
import { NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { evacuationsOf, evict, hasSettledAwayFrom, launcherOf, untilVmi } from "./vm.ts";

const REQUEST_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
/** What a descheduler writes on every Eviction. */
const SENT = {
  annotations: { "requested-by": "sigs.k8s.io/descheduler", reason: "triggered by vms/LowNodeUtilization: " },
};

const startStage = useStages();
let stage: Stage;

async function outcomeOf(pod: Pod): Promise<"evicted" | "background" | "error"> {
  const { code, message } = await evict(stage.client, pod, SENT);
  if (code < 300) return "evicted";
  const asked = pod.metadata.annotations?.[REQUEST_ONLY] !== undefined;
  return asked && code === 429 && message.includes("Eviction triggered evacuation") ? "background" : "error";
}

function isInProgress({ metadata }: Pod): boolean {
  return metadata.annotations?.[REQUEST_ONLY] !== undefined && metadata.annotations[IN_PROGRESS] !== undefined;
}

test("it recognises the first answer and every later one, and is told when it is over", async () => {
  stage = await startDeschedulingStage(startStage, { migrationSeconds: 1 });
  await createVms(stage, ["web"]);
  const source = await launcherOf(stage.client, "web");
  expect([await outcomeOf(source), await outcomeOf(source)]).toEqual(["background", "background"]);
  expect(await evacuationsOf(stage.client, "web")).toMatchObject([{ spec: { cause: "Descheduler" } }]);
  await waitFor(stage.client, { resource: pods, key: source.metadata, what: "in progress", until: isInProgress });
  expect(await outcomeOf(source)).toBe("background");
  const vmi = await untilVmi(stage.client, "web", "settled elsewhere", hasSettledAwayFrom("node01"));
  // The source ends, or is told, only then.
  const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
  const own = async () => (await stage.client.list(pods, NAMESPACE, { labelSelector })).items;
  await expect.poll(async () => (await own()).filter(isInProgress)).toEqual([]);
});
