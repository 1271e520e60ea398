/**
 * Performs actions: the only code that changes a cluster.
 * Owns: the request that each action becomes, and what its answers mean. Does not own: which actions (shared/policy).
 */
import * as z from "zod/mini";
import type { Action, NewEvacuation } from "../policy/action.ts";
import { counterKey } from "../policy/counters.ts";
import { registerText } from "../descheduling/cycle/register.ts";
import type { EvacuationFacts, NamespacedName } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { isActive } from "../policy/evacuation/phase.ts";
import * as manifests from "./manifests.ts";
import { clear, mark, type MarkingContext } from "./marking.ts";
import * as patches from "./patches.ts";
import { collection, object, type Resource } from "./paths.ts";
import { evacuationFacts } from "./evacuation-projections.ts";
import { parseAnswer, readOne } from "./read.ts";
import { Evacuation } from "./evacuation-schemas.ts";
import { ConfigMap } from "./schemas.ts";
import type { ApiAnswer, Send } from "./transport.ts";

/**
 * `Done`, also when another function has done the same before; `Conflict`: the world is not what was observed, look again;
 * `Refused`: an admission webhook says no, and will say so again. Anything else throws a ClusterError.
 */
export type ActResult = "Done" | "Conflict" | "Refused";

export interface ActContext extends MarkingContext {
  readonly now: Date;
}

/** KubeVirt's create admitter on a VMI that already migrates: another migration was first, which is no refusal. */
const IN_FLIGHT = "in-flight migration detected";
/** 404 the object is gone, 409 stale or taken, 422 a test failed. */
const LOOK_AGAIN = [404, 409, 422];
const TEST_FAILED = 422;

export async function act(action: Action, context: ActContext): Promise<ActResult> {
  switch (action.verb) {
    case "Mark":
      return await mark(action, context);
    case "Unmark":
      return await clear(action.vmi, context);
    case "CreateEvacuation":
      return typeof (await createEvacuation(action.evacuation, context)) === "string" ? "Conflict" : "Done";
    case "WriteStatus":
      return await writeStatus(action, context);
    case "DeleteEvacuation":
      return await remove("evacuations", action.evacuation, context);
    case "Count":
      return await count(counterKey(action.cause, action.outcome), context);
    case "CreateMigration":
      return await createMigration(action, context);
    case "AdoptMigration": {
      const operations = patches.adoptPatch(action.migration, manifests.migrationAnnotations(action.evacuation));
      return conditional(await patch("virtualmachineinstancemigrations", action.migration, operations, context));
    }
    case "DeleteMigration":
      return await remove("virtualmachineinstancemigrations", action.migration, context);
    case "CreateBudget": {
      const body = manifests.budget(action.vmi, action.name, action.minAvailable, patches.touchedLabel(context.now));
      return await create("poddisruptionbudgets", action.vmi.namespace, body, context);
    }
    case "EnsureBudget": {
      const path = object("poddisruptionbudgets", { namespace: action.vmi.namespace, name: action.name });
      const { code } = await context.send({ method: "GET", path, expect: [404] });
      return code === 404 ? "Conflict" : "Done";
    }
    case "GrowBudget": {
      const key = { namespace: action.vmi.namespace, name: action.name };
      const { code } = await patch("poddisruptionbudgets", key, patches.growPatch(context.now), context);
      // One that is not ours is not ours to grow.
      return code < 300 || code === TEST_FAILED ? "Done" : "Conflict";
    }
    case "ResizeBudget": {
      const { budget, minAvailable } = action;
      const operations = patches.resizePatch(budget, minAvailable, context.now);
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
    case "WriteConditions": {
      const { resourceVersion, generation: observedGeneration, conditions } = action;
      const path = `${object("lifeboatconfigurations", { namespace: "", name: names.CONFIGURATION })}/status`;
      const body = { metadata: { resourceVersion }, status: { observedGeneration, conditions } };
      const contentType = "application/merge-patch+json";
      return conditional(await context.send({ method: "PATCH", path, contentType, body, expect: LOOK_AGAIN }));
    }
    case "WriteRegister":
      return await writeRegister(action, context);
    case "Event":
      return await create("events", action.about.namespace, manifests.event(action, context.now), context);
  }
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
  { vmi, name, evacuation }: Extract<Action, { verb: "CreateMigration" }>,
  { send }: ActContext,
): Promise<ActResult> {
  const path = collection("virtualmachineinstancemigrations", vmi.namespace);
  const migration = manifests.migration(vmi, name, evacuation);
  const { code, body } = await send({ method: "POST", path, body: migration, expect: [400, 409, 422] });
  if (code < 300 || code === 409) return "Done";
  const { message } = parseAnswer(z.object({ message: z.string() }), body, `POST ${path}`);
  return message.includes(IN_FLIGHT) ? "Conflict" : "Refused";
}

/**
 * What has been created, or what another function has created under the same name, if that has not ended. Conflict: look
 * again, for the next name.
 */
export async function createEvacuation(
  evacuation: NewEvacuation,
  { send }: Pick<ActContext, "send">,
): Promise<EvacuationFacts | "Conflict"> {
  const path = collection("evacuations", evacuation.namespace);
  const answer = await send({ method: "POST", path, body: manifests.evacuation(evacuation), expect: [409] });
  if (answer.code < 300) return evacuationFacts(parseAnswer(Evacuation, answer.body, `POST ${path}`));
  const found = await readOne(send, "evacuations", evacuation, Evacuation);
  const facts = found && evacuationFacts(found);
  const isJoined = facts !== undefined && isActive(facts) && facts.spec.pod?.uid === evacuation.spec.pod?.uid;
  return isJoined ? facts : "Conflict";
}

async function writeStatus(
  { evacuation, status }: Extract<Action, { verb: "WriteStatus" }>,
  { send }: ActContext,
): Promise<ActResult> {
  const path = `${object("evacuations", evacuation)}/status`;
  const body = manifests.statusPatch(evacuation, status);
  const contentType = "application/merge-patch+json";
  return conditional(await send({ method: "PATCH", path, body, contentType, expect: LOOK_AGAIN }));
}

/** How often a counter is tried that another function writes at the same time: a count is worth no more. */
const COUNTS = 3;

async function count(key: string, { send }: ActContext): Promise<ActResult> {
  const where = { namespace: names.LIFEBOAT_NAMESPACE, name: names.COUNTERS_CONFIG_MAP };
  for (let tried = 0; tried < COUNTS; tried++) {
    const found = await readOne(send, "configmaps", where, ConfigMap);
    const data = { [key]: String(1 + (Number(found?.data[key]) || 0)) };
    const resourceVersion = found?.metadata.resourceVersion;
    if ((await writeWhole(where.name, resourceVersion, data, { send })) === "Done") return "Done";
  }
  return "Conflict";
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

/** One that is there by now was made by another function, which has written something else into it. */
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
  resourceVersion: string | undefined,
  data: Readonly<Record<string, string>>,
  { send }: Pick<ActContext, "send">,
): Promise<ActResult> {
  if (resourceVersion === undefined) return await createConfigMap(name, data, send);
  const path = object("configmaps", { namespace: names.LIFEBOAT_NAMESPACE, name });
  const body = { metadata: { resourceVersion }, data };
  const contentType = "application/merge-patch+json";
  return conditional(await send({ method: "PATCH", path, body, contentType, expect: LOOK_AGAIN }));
}
