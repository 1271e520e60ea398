/** The Worker's events door as the relay meets it: over HTTP, verifying everything the contract asks for. */
import { createServer, type IncomingMessage } from "node:http";
import { Webhook } from "standardwebhooks";
import {
  BATCH_CONTENT_TYPE,
  EventBatch,
  LARGEST_BATCH_BYTES,
  type LifeboatEvent,
} from "../../../shared/events/cloud-event.ts";
import type { EventType } from "../../../shared/events/cloud-event.ts";

import { listen } from "./listen.ts";

export const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
const TOLERANCE_MS = 5 * 60 * 1000;

export interface Answer {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Delivered {
  readonly id: string;
  readonly path: string;
  readonly events: readonly LifeboatEvent[];
  readonly code: number;
}

export interface FakeWorker {
  readonly url: string;
  /** Every attempt. */
  readonly attempts: readonly Delivered[];
  /** What is wrong with deliveries; nothing, for a relay that keeps the contract. */
  readonly problems: readonly string[];
  /** How many deliveries were under way at once, at most. */
  readonly mostAtOnce: number;
  /** 204 unless told otherwise. */
  answer(how: (events: readonly LifeboatEvent[]) => Answer | Promise<Answer>): void;
  /** What was taken, in order. */
  taken(type?: EventType): readonly LifeboatEvent[];
  stop(): Promise<void>;
}

const take = (): Answer => ({ code: 204 });

export async function startFakeWorker(now: () => Date, port = 0): Promise<FakeWorker> {
  const webhook = new Webhook(SECRET);
  const attempts: Delivered[] = [];
  const problems: string[] = [];
  let how: (events: readonly LifeboatEvent[]) => Answer | Promise<Answer> = take;
  let underWay = 0;
  let mostAtOnce = 0;

  const server = createServer((request, response) => {
    const receive = async () => {
      mostAtOnce = Math.max(mostAtOnce, ++underWay);
      const body = (await request.setEncoding("utf8").toArray()).join("");
      problems.push(...problemsOf(request, body, webhook, now()));
      const events = EventBatch.parse(JSON.parse(body));
      const { code, headers = {}, body: text = "" } = await how(events);
      attempts.push({ id: header(request, "webhook-id"), path: request.url ?? "", events, code });
      underWay -= 1;
      response.writeHead(code, headers).end(text);
    };
    receive().catch((error: unknown) => {
      problems.push(String(error));
      response.writeHead(400).end();
    });
  });
  const listening = await listen(server, port);
  return {
    url: `http://${listening.authority}`,
    attempts,
    problems,
    get mostAtOnce() {
      return mostAtOnce;
    },
    answer(next) {
      how = next;
    },
    taken: (type) =>
      attempts
        .filter(({ code }) => code === 204)
        .flatMap(({ events }) => events)
        .filter((event) => type === undefined || event.type === type),
    stop: () => listening.stop(),
  };
}

function problemsOf(request: IncomingMessage, body: string, webhook: Webhook, now: Date): readonly string[] {
  const at = new Date(Number(header(request, "webhook-timestamp")) * 1000);
  const expected = webhook.sign(header(request, "webhook-id"), at, body);
  return [
    ...(request.method === "POST" ? [] : [`method ${request.method}`]),
    ...(request.headers["content-type"] === BATCH_CONTENT_TYPE ? [] : ["content type"]),
    ...(header(request, "webhook-signature") === expected ? [] : ["signature"]),
    ...(Math.abs(at.getTime() - now.getTime()) <= TOLERANCE_MS ? [] : ["timestamp"]),
    ...(body.length <= LARGEST_BATCH_BYTES ? [] : ["size"]),
  ];
}

function header(request: IncomingMessage, name: string): string {
  return String(request.headers[name] ?? "");
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
