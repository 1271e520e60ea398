/**
 * Performs actions: the only code that changes a cluster.
 * Owns: the request that each action becomes, and what its answers mean. Does not own: which actions (shared/policy).
 */
import * as z from "zod/mini";
import type { Action } from "../policy/action.ts";
import { registerText } from "../policy/descheduling/register.ts";
import type { NamespacedName, VmiFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import * as manifests from "./manifests.ts";
import { clear, mark, type MarkingContext } from "./marking.ts";
import * as patches from "./patches.ts";
import { collection, object, type Resource } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import { countersText, recordText, slotsText } from "./record-schema.ts";
import { Vmi } from "./schemas.ts";
import type { ApiAnswer, Send } from "./transport.ts";

/**
 * `Done`, also when somebody else has done the same before; `Conflict`: the world is not what was observed, look again;
 * `Refused`: an admission webhook says no, and will say so again. Anything else throws a ClusterError.
 */
export type ActResult = "Done" | "Conflict" | "Refused";

export interface ActContext extends MarkingContext {
  readonly now: Date;
}

/** KubeVirt's create admitter on a VMI that already migrates: somebody was faster, which is no refusal. */
const IN_FLIGHT = "in-flight migration detected";
/** 404 the object is gone, 409 stale or taken, 422 a test failed. */
const LOOK_AGAIN = [404, 409, 422];
const TEST_FAILED = 422;

export async function act(action: Action, context: ActContext): Promise<ActResult> {
  switch (action.verb) {
    case "Mark":
      return await mark(action, context);
    case "Record": {
      const operations = patches.recordPatch(action.vmi, recordText(action.record), action.urgency);
      return conditional(await patch("virtualmachineinstances", action.vmi, operations, context));
    }
    case "Unmark":
      return await clear(action.vmi, { record: recordText(action.record), label: true }, context);
    case "Forget":
      return await clear(action.vmi, { record: undefined, label: false }, context);
    case "CreateMigration":
      return await createMigration(action, context);
    case "AdoptMigration": {
      const operations = patches.adoptPatch(action.migration, manifests.migrationAnnotations(action));
      return conditional(await patch("virtualmachineinstancemigrations", action.migration, operations, context));
    }
    case "DeleteMigration":
      return await remove("virtualmachineinstancemigrations", action.migration, context);
    case "CreateBudget": {
      const body = manifests.budget(action.vmi, action.name, action.minAvailable);
      return await create("poddisruptionbudgets", action.vmi.namespace, body, context);
    }
    case "EnsureBudget": {
      const path = object("poddisruptionbudgets", { namespace: action.vmi.namespace, name: action.name });
      const { code } = await context.send({ method: "GET", path, expect: [404] });
      return code === 404 ? "Conflict" : "Done";
    }
    case "GrowBudget": {
      const key = { namespace: action.vmi.namespace, name: action.name };
      const { code } = await patch("poddisruptionbudgets", key, patches.growPatch(action.grownFor), context);
      // One that is not ours is not ours to grow.
      return code < 300 || code === TEST_FAILED ? "Done" : "Conflict";
    }
    case "ResizeBudget": {
      const { budget, minAvailable, vmi } = action;
      if (vmi !== undefined && !(await isAsSeen(vmi, context))) return "Conflict";
      const operations = patches.resizePatch(budget, minAvailable);
      return conditional(await patch("poddisruptionbudgets", budget, operations, context));
    }
    case "DeleteBudget":
      return await remove("poddisruptionbudgets", action.budget, context);
    case "DeletePod":
      return await remove("pods", action.pod, context);
    case "AnnotatePod": {
      const { pod, add, remove } = action;
      return conditional(await patch("pods", pod, patches.annotatePatch(pod, add, remove), context));
    }
    case "WriteSlots":
      return await writeWhole(names.SLOTS_CONFIG_MAP, action, { [names.SLOTS_KEY]: slotsText(action.slots) }, context);
    case "WriteCounters":
      return await writeWhole(
        names.COUNTERS_CONFIG_MAP,
        action,
        { [names.COUNTERS_KEY]: countersText(action) },
        context,
      );
    case "WriteRegister":
      return await writeRegister(action, context);
    case "Event":
      return await create("events", action.about.namespace, manifests.event(action, context.now), context);
  }
}

async function isAsSeen(vmi: VmiFacts, { send }: ActContext): Promise<boolean> {
  const path = object("virtualmachineinstances", vmi);
  const { code, body } = await send({ method: "GET", path, expect: [404] });
  return code < 300 && parseAnswer(Vmi, body, `GET ${path}`).metadata.resourceVersion === vmi.resourceVersion;
}

async function patch(
  resource: Resource,
  key: NamespacedName,
  body: readonly patches.Operation[],
  { send }: ActContext,
): Promise<ApiAnswer> {
  const contentType = "application/json-patch+json";
  return await send({ method: "PATCH", path: object(resource, key), contentType, body, expect: LOOK_AGAIN });
}

function conditional({ code }: ApiAnswer): ActResult {
  return code < 300 ? "Done" : "Conflict";
}

/** A deterministic name that is taken was taken by the same action. */
async function create(resource: Resource, namespace: string, body: unknown, { send }: ActContext): Promise<ActResult> {
  const answer = await send({ method: "POST", path: collection(resource, namespace), body, expect: [404, 409] });
  return answer.code === 404 ? "Conflict" : "Done";
}

async function createMigration(
  { slot }: Extract<Action, { verb: "CreateMigration" }>,
  { send }: ActContext,
): Promise<ActResult> {
  const path = collection("virtualmachineinstancemigrations", slot.namespace);
  const { code, body } = await send({ method: "POST", path, body: manifests.migration(slot), expect: [400, 409, 422] });
  if (code < 300 || code === 409) return "Done";
  const { message } = parseAnswer(z.object({ message: z.string() }), body, `POST ${path}`);
  return message.includes(IN_FLIGHT) ? "Conflict" : "Refused";
}

async function remove(
  resource: Resource,
  { namespace, name, uid }: NamespacedName & { readonly uid: string },
  { send }: ActContext,
): Promise<ActResult> {
  const path = object(resource, { namespace, name });
  const answer = await send({ method: "DELETE", path, body: { preconditions: { uid } }, expect: [404, 409] });
  return answer.code === 409 ? "Conflict" : "Done";
}

/** One that is there by now was made by somebody else, who has said something else in it. */
async function createConfigMap(name: string, data: Readonly<Record<string, string>>, send: Send): Promise<ActResult> {
  const path = collection("configmaps", names.LIFEBOAT_NAMESPACE);
  const answer = await send({ method: "POST", path, body: manifests.configMap(name, data), expect: [409] });
  return answer.code === 409 ? "Conflict" : "Done";
}

/** Compare-and-set by the text that was read: what is written next in the same cycle is known without reading. */
async function writeRegister(
  { found, register }: Extract<Action, { verb: "WriteRegister" }>,
  { send }: ActContext,
): Promise<ActResult> {
  const [name, key] = [names.DESCHEDULING_CONFIG_MAP, names.DESCHEDULING_KEY];
  const text = registerText(register);
  if (found.found === "Nothing") return await createConfigMap(name, { [key]: text }, send);
  const path = object("configmaps", { namespace: names.LIFEBOAT_NAMESPACE, name });
  const body = patches.registerPatch(key, found, text);
  const contentType = "application/json-patch+json";
  return conditional(await send({ method: "PATCH", path, contentType, body, expect: LOOK_AGAIN }));
}

/** Compare-and-set by the resourceVersion that was read; without one there was no such ConfigMap, and it is created. */
async function writeWhole(
  name: string,
  { resourceVersion }: { readonly resourceVersion?: string },
  data: Readonly<Record<string, string>>,
  { send }: ActContext,
): Promise<ActResult> {
  if (resourceVersion === undefined) return await createConfigMap(name, data, send);
  const path = object("configmaps", { namespace: names.LIFEBOAT_NAMESPACE, name });
  const body = { metadata: { resourceVersion }, data };
  const contentType = "application/merge-patch+json";
  return conditional(await send({ method: "PATCH", path, body, contentType, expect: LOOK_AGAIN }));
}
