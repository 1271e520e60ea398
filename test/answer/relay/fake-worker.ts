/** Simulates the Worker's endpoint for events behind `fetch`. Checks that each delivery obeys the contract. */
import { Webhook } from "standardwebhooks";
import type { FetchUrl } from "../../../infra/relay/send.ts";
import {
  BATCH_CONTENT_TYPE,
  EventBatch,
  LARGEST_BATCH_BYTES,
  type LifeboatEvent,
} from "../../../shared/events/cloud-event.ts";

export const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
export const ENDPOINT = new URL("https://lifeboat.example.com/clusters/sandbox/events");

const TOLERANCE_MS = 5 * 60 * 1000;
const webhook = new Webhook(SECRET);

export type Events = readonly LifeboatEvent[];

export class FakeWorker {
  readonly attempts: { readonly events: Events; readonly code: number }[] = [];
  readonly problems: string[] = [];
  answer: (events: Events) => Response | Promise<Response> = () => answered(204);
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  get taken(): Events {
    return this.attempts.filter(({ code }) => code === 204).flatMap(({ events }) => events);
  }

  readonly fetch: FetchUrl = async (_, init) => {
    const { signal, body } = init;
    if (typeof body !== "string") throw new TypeError("a delivery is a text");
    const aborted = new Promise<never>((_resolve, reject) => {
      // eslint-disable-next-line typescript/prefer-promise-reject-errors -- as fetch does
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
    this.problems.push(...problemsOf(init, body, this.#now()));
    const events = EventBatch.parse(JSON.parse(body));
    const response = await Promise.race([this.answer(events), aborted]);
    this.attempts.push({ events, code: response.status });
    return response;
  };
}

export function answered(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers });
}

function problemsOf({ method, redirect, headers }: RequestInit, body: string, now: Date): readonly string[] {
  const sent = new Headers(headers);
  const header = (name: string) => sent.get(name) ?? "";
  const at = new Date(Number(header("webhook-timestamp")) * 1000);
  const checks = [
    [method === "POST", "method"],
    [redirect === "manual", "it follows redirects"],
    [header("content-type") === BATCH_CONTENT_TYPE, "content type"],
    [header("webhook-signature") === webhook.sign(header("webhook-id"), at, body), "signature"],
    [Math.abs(at.getTime() - now.getTime()) <= TOLERANCE_MS, "timestamp"],
    [body.length <= LARGEST_BATCH_BYTES, "size"],
  ] as const;
  return checks.flatMap(([isRight, problem]) => (isRight ? [] : [problem]));
}

export function vmiEvent(name: string, version = 1): LifeboatEvent {
  return {
    specversion: "1.0",
    id: `${name}.${version}`,
    source: "/relay",
    type: "dev.lifeboat.vmi.changed.v1",
    subject: `vms/${name}`,
    time: "2026-11-20T12:00:00.000Z",
    data: { namespace: "vms", name, uid: `uid-of-${name}` },
  };
}
