/** Performs actions: the only code that changes a cluster. */
import * as z from "zod/mini";
import type { Action, NewEvacuation } from "../policy/action.ts";
import type { EvacuationFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { hasNoRequester } from "../policy/evacuation/identity.ts";
import { isActive } from "../policy/evacuation/phase.ts";
import { Evacuation } from "./kinds/lifeboat.ts";
import * as manifests from "./manifests.ts";
import { mark, unmark } from "./marking.ts";
import * as patches from "./patches.ts";
import { collection, object } from "./paths.ts";
import { parseAnswer, readOne } from "./read.ts";
import type { Send } from "./transport.ts";
import { type ActionOf, type ActResult, CHANGED, create, patch, remove, write } from "./write.ts";

export interface ActContext {
  readonly send: Send;
  readonly now: Date;
}

const VMIS = "virtualmachineinstances";
const MIGRATIONS = "virtualmachineinstancemigrations";
const BUDGETS = "poddisruptionbudgets";

export async function act(action: Action, context: ActContext): Promise<ActResult> {
  const { send, now } = context;
  switch (action.verb) {
    case "Mark":
      return await mark(action, send);
    case "Unmark":
      return await unmark(action, send);
    case "Label":
      return await patch(send, object(VMIS, action.vmi), patches.label(action));
    case "Shield":
      return await patch(send, object(VMIS, action.vmi), patches.shield(action));
    case "CreateEvacuation":
      return (await createEvacuation(action.evacuation, send)) === "Conflict" ? "Conflict" : "Done";
    case "WriteStatus":
      return await patch(send, `${object("evacuations", action.evacuation)}/status`, patches.status(action));
    case "DeleteEvacuation":
      return await remove(send, "evacuations", action.evacuation);
    case "CreateMigration":
      return await createMigration(action, send);
    case "AdoptMigration":
      return await patch(send, object(MIGRATIONS, action.migration), patches.adopt(action));
    case "SkipBackoff":
      return await patch(send, object(MIGRATIONS, action.migration), patches.skipBackoff(action));
    case "DeleteMigration":
      // One that has begun since it was seen waiting is not to be aborted.
      return await remove(send, MIGRATIONS, action.migration, action.migration.phase !== "Running");
    case "CreateBudget":
      return await create(send, collection(BUDGETS, action.vmi.namespace), manifests.budget(action, now));
    case "EnsureBudget":
      return await write(send, { method: "GET", path: budgetPath(action) }, { 404: "Conflict" });
    case "GrowBudget":
      // 422: it is another party's, which is not ours to grow.
      return await patch(send, budgetPath(action), patches.grow(now), { ...CHANGED, 422: "Done" });
    case "ResizeBudget":
      return await patch(send, object(BUDGETS, action.budget), patches.resize(action, now));
    case "DeleteBudget":
      return await remove(send, BUDGETS, action.budget);
    case "DeletePod":
      return await remove(send, "pods", action.pod);
    case "AnnotatePod":
      return await patch(send, object("pods", action.pod), patches.annotate(action));
    case "WriteConditions": {
      const path = `${object("lifeboatconfigurations", { namespace: "", name: names.CONFIGURATION })}/status`;
      return await patch(send, path, patches.conditions(action));
    }
    case "Event":
      return await tell(action, context);
  }
}

/** An Event that exists has been sent before. */
async function tell(story: ActionOf<"Event">, { send, now }: ActContext): Promise<ActResult> {
  const path = collection("events", manifests.eventNamespace(story));
  const { code } = await send({ method: "POST", path, body: manifests.event(story, now), expect: [404, 409] });
  return code === 404 ? "Conflict" : "Done";
}

function budgetPath({ vmi: { namespace }, name }: ActionOf<"EnsureBudget" | "GrowBudget">): string {
  return object(BUDGETS, { namespace, name });
}

/** KubeVirt's create admitter on a VMI that already migrates: another migration was first, which is no refusal. */
const IN_FLIGHT = "in-flight migration detected";

async function createMigration(action: ActionOf<"CreateMigration">, send: Send): Promise<ActResult> {
  const path = collection(MIGRATIONS, action.vmi.namespace);
  const migration = manifests.migration(action);
  const { code, body } = await send({ method: "POST", path, body: migration, expect: [400, 409, 422] });
  if (code < 300 || code === 409) return "Done";
  const { message } = parseAnswer(z.object({ message: z.string() }), body, `POST ${path}`);
  return message.includes(IN_FLIGHT) ? "Conflict" : "Refused";
}

/**
 * What was created, or what another function created under the same name, unless that has ended; where that only knew of a mark, with
 * who asked. Conflict: look again, for the next name.
 */
export async function createEvacuation(evacuation: NewEvacuation, send: Send): Promise<EvacuationFacts | "Conflict"> {
  const path = collection("evacuations", evacuation.namespace);
  const answer = await send({ method: "POST", path, body: manifests.evacuation(evacuation), expect: [409] });
  if (answer.code < 300) return parseAnswer(Evacuation, answer.body, `POST ${path}`);
  const found = await readOne(send, "evacuations", evacuation, Evacuation);
  const isJoined = found !== undefined && isActive(found) && found.spec.pod?.uid === evacuation.spec.pod?.uid;
  if (!isJoined) return "Conflict";
  return hasNoRequester(found) && !hasNoRequester(evacuation) ? await nameRequester(found, evacuation, send) : found;
}

async function nameRequester(found: EvacuationFacts, { spec }: NewEvacuation, send: Send): Promise<EvacuationFacts> {
  const path = object("evacuations", found);
  const body = { metadata: { uid: found.uid }, spec: { requestedBy: manifests.userOf(spec) } };
  // 409, 404: it has gone meanwhile. 422: another request was faster, or the definition is that of an older version.
  const answer = await send({ method: "PATCH", path, body, expect: [404, 409, 422] });
  return answer.code < 300 ? parseAnswer(Evacuation, answer.body, `PATCH ${path}`) : found;
}
