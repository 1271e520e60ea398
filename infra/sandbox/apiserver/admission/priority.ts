/**
 * The Priority admission plugin. It sets a pod's priority from its PriorityClass, and allows only one default class.
 */
import { type ResourceContext, collectionOf } from "../context.ts";
import { PRIORITY_CLASSES } from "../kinds/scheduling.ts";
import { type KubeObject, childOf, stringAt } from "../objects.ts";
import { parsedOnce } from "../store.ts";
import { forbid } from "./review.ts";

/**
 * Sets the priority of a new pod before any webhook is called. Refuses a new PriorityClass that would be a second
 * default class.
 */
export function admitPriority(ctx: ResourceContext, object: KubeObject): KubeObject {
  if (ctx.info.subresource !== "") return object;
  if (ctx.kind === PRIORITY_CLASSES) checkDefault(ctx, object);
  return ctx.kind.plural === "pods" && ctx.kind.group === "" ? withPriority(ctx, structuredClone(object)) : object;
}

function withPriority(ctx: ResourceContext, pod: KubeObject): KubeObject {
  const spec = childOf(pod, "spec");
  const found = classOf(ctx, pod, stringAt(spec, "priorityClassName"));
  const priority = Number(found?.value ?? 0);
  const preemptionPolicy = stringAt(found, "preemptionPolicy") || "PreemptLowerPriority";
  for (const [what, field, computed] of [
    ["the integer value of priority", "priority", priority],
    ["the string value of PreemptionPolicy", "preemptionPolicy", preemptionPolicy],
  ] as const) {
    const given = stringAt(spec, field);
    if (given === "" || given === String(computed)) continue;
    const why = `priority admission controller computed ${computed} from the given PriorityClass name`;
    forbid(ctx, pod, `${what} (${given}) must not be provided in pod spec; ${why}`);
  }
  if (found?.metadata.name !== undefined) spec.priorityClassName = found.metadata.name;
  Object.assign(spec, { priority, preemptionPolicy });
  return pod;
}

/**
 * Returns the PriorityClass that the pod names, or the default class if the pod names no class. Refuses the pod if the
 * named class does not exist.
 */
function classOf(ctx: ResourceContext, pod: KubeObject, name: string): KubeObject | undefined {
  if (name === "") return defaultOf(ctx);
  const found = classesOf(ctx).find(({ metadata }) => metadata.name === name);
  return found ?? forbid(ctx, pod, `no PriorityClass with name ${name} was found`);
}

function classesOf(ctx: ResourceContext): readonly KubeObject[] {
  return collectionOf(ctx.state, PRIORITY_CLASSES).list("").map(parsedOnce);
}

/** Returns the default class. If several classes are the default, returns the class with the lowest priority. */
function defaultOf(ctx: ResourceContext): KubeObject | undefined {
  const defaults = classesOf(ctx).filter(({ globalDefault }) => globalDefault === true);
  return defaults.toSorted((a, b) => Number(a.value) - Number(b.value))[0];
}

function checkDefault(ctx: ResourceContext, priorityClass: KubeObject): void {
  if (priorityClass.globalDefault !== true) return;
  const other = defaultOf(ctx)?.metadata.name;
  if (other === undefined) return;
  forbid(ctx, priorityClass, `PriorityClass ${other} is already marked as default. Only one default can exist`);
}
