/** Calls the admission webhooks for a request in order, and applies their answers. */
import { isDeepStrictEqual } from "node:util";
import type { ResourceContext } from "../context.ts";
import { ADMISSION_GROUP } from "../kinds/admission.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { type KubeObject, recordsAt, viewAs } from "../objects.ts";
import { applyJsonPatch } from "../patch/json.ts";
import { parsedOnce } from "../store.ts";
import { badRequest, fail } from "../status.ts";
import { conditionsHold } from "./match-conditions.ts";
import { kindFor, selects } from "./matching.ts";
import { admitByPolicies } from "./policies.ts";
import { type AdmissionRequest, type AdmissionSubject, converted, reviewOf } from "./review.ts";
import { type AdmissionResponse, WebhookError } from "./webhook-answer.ts";
import { type Webhook, callWebhook } from "./webhook-client.ts";

export async function admitMutating(ctx: ResourceContext, subject: AdmissionSubject): Promise<KubeObject> {
  return (await mutate(ctx, subject)) ?? badRequest("admission left no object");
}

/** Calls the mutating and the validating webhooks for a deletion. Each webhook can deny the deletion. */
export async function admitDeletion(ctx: ResourceContext, subject: AdmissionSubject): Promise<void> {
  await mutate(ctx, subject);
  await admitValidating(ctx, subject);
}

/**
 * Calls the mutating webhooks one after another. Each webhook gets the changes of earlier webhooks. A webhook with
 * reinvocationPolicy IfNeeded is called again if a later webhook changes the object.
 */
async function mutate(ctx: ResourceContext, subject: AdmissionSubject): Promise<KubeObject | undefined> {
  const webhooks = webhooksOf(ctx, "mutatingwebhookconfigurations");
  const seen = new Map<Webhook, KubeObject | undefined>();
  let current = subject;
  const askOne = async (webhook: Webhook): Promise<void> => {
    const answered = await ask(ctx, webhook, current);
    if (answered === undefined) return;
    const object = patched(ctx, current.object, answered);
    if (!isDeepStrictEqual(object, current.object)) current = { ...current, object };
    seen.set(webhook, current.object);
  };
  for (const webhook of webhooks) await askOne(webhook);
  for (const webhook of webhooks) {
    const outdated = seen.has(webhook) && seen.get(webhook) !== current.object;
    if (outdated && webhook.reinvocationPolicy === "IfNeeded") await askOne(webhook);
  }
  return current.object;
}

/**
 * Evaluates the policies first. Then calls all validating webhooks at the same time. The first denial refuses the
 * request.
 */
export async function admitValidating(ctx: ResourceContext, subject: AdmissionSubject): Promise<void> {
  admitByPolicies(ctx, subject);
  const webhooks = webhooksOf(ctx, "validatingwebhookconfigurations");
  if (webhooks.length === 0) return;
  const denials: unknown[] = [];
  await Promise.all(webhooks.map((webhook) => ask(ctx, webhook, subject).catch((why: unknown) => denials.push(why))));
  if (denials.length > 0) throw denials[0];
}

/**
 * Returns the webhooks for a kind. No webhook is called for webhook configurations and policies. Otherwise a webhook
 * could prevent its own removal.
 */
function webhooksOf(ctx: ResourceContext, plural: string): readonly Webhook[] {
  if (ctx.kind.group === ADMISSION_GROUP) return [];
  const configurations = ctx.state.store.collection(`${ADMISSION_GROUP}/${plural}`).list("");
  return configurations.flatMap((stored) => viewAs<Webhook[]>(recordsAt(parsedOnce(stored), "webhooks")));
}

interface Answered {
  readonly webhook: Webhook;
  readonly kind: ResourceKind;
  readonly response: AdmissionResponse;
}

/** Matches empty warnings, and warnings that cannot be sent in a header. */
const UNSAYABLE = /^$|\p{Cc}/u;

/**
 * Calls a webhook. Returns undefined if the webhook does not apply. Also returns undefined if the call fails and the
 * failurePolicy is Ignore.
 */
async function ask(ctx: ResourceContext, webhook: Webhook, subject: AdmissionSubject): Promise<Answered | undefined> {
  const kind = kindFor(ctx, webhook, subject.operation);
  if (kind === undefined || !selects(ctx, webhook, subject)) return undefined;
  const review = reviewOf(ctx, subject, kind);
  if (!conditionsHold(ctx, webhook, review)) return undefined;
  const response = await call(ctx, webhook, review);
  if (response === undefined) return undefined;
  const sayable = (response.warnings ?? []).filter((text) => !UNSAYABLE.test(text) && !ctx.warnings.includes(text));
  ctx.warnings.push(...new Set(sayable));
  return response.allowed ? { webhook, kind, response } : deny(webhook, response);
}

async function call(
  ctx: ResourceContext,
  webhook: Webhook,
  review: AdmissionRequest,
): Promise<AdmissionResponse | undefined> {
  const prefix = `failed to call webhook: Post "${webhook.clientConfig.url}":`;
  try {
    const struck = ctx.state.faults.draw(ctx.info, ctx.user, webhook.name).map(({ type }) => type);
    if (struck.includes("LostReview")) throw new WebhookError(`${prefix} write: broken pipe`);
    const response = await callWebhook(webhook, review, ctx);
    if (struck.includes("LostVerdict")) throw new WebhookError(`${prefix} EOF`);
    return response;
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    // If the client has disconnected, the request fails even if the failurePolicy is Ignore.
    if (webhook.failurePolicy === "Ignore" && !ctx.signal.aborted) return countFailedOpen(ctx, webhook);
    return fail({ reason: "WebhookFailed", message: `failed calling webhook "${webhook.name}": ${error.message}` });
  }
}

function countFailedOpen({ state: { failedOpen } }: ResourceContext, { name }: Webhook): undefined {
  failedOpen.set(name, (failedOpen.get(name) ?? 0) + 1);
}

function deny(webhook: Webhook, { status = {} }: AdmissionResponse): never {
  const prefix = `admission webhook "${webhook.name}" denied the request`;
  const why = status.message || status.reason;
  const { code = 0, reason, details } = status;
  const message = why ? `${prefix}: ${why}` : `${prefix} without explanation`;
  return fail({
    reason: "WebhookDenied",
    message,
    status: { ...(code >= 400 && { code }), ...(reason && { reason }), ...(details !== undefined && { details }) },
  });
}

function patched(ctx: ResourceContext, object: KubeObject | undefined, answered: Answered): KubeObject | undefined {
  const { webhook, kind, response } = answered;
  if (response.operations.length === 0) return object;
  const what = "attempted to modify the object, which is not supported for this operation";
  const seen = object
    ? converted(object, ctx.kind, kind)
    : internalError(`admission webhook "${webhook.name}" ${what}`);
  return converted(viewAs(applyJsonPatch(structuredClone(seen), response.operations, internalError)), kind, ctx.kind);
}

function internalError(message: string): never {
  return fail({ reason: "InternalError", message });
}
