/** A webhook that reviews deletions of pods by Kubernetes' components. The test sets the webhook's answer. */
import { createServer } from "node:https";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Condition } from "../../actors/conditions.ts";
import { afterAll, afterEach, beforeAll } from "vitest";
import { pods, type Pod, type Resource, type KubeObject } from "../../actors/resources.ts";
import type { SteppedClock } from "../../actors/clock.ts";
import { USERS } from "../../identities.ts";
import { eventually, type World } from "../with-sandbox.ts";

/** "later" denies with a Retry-After header. "hold" gives no answer until `release` is called. */
export type Verdict = "allow" | "deny" | "later" | "hold";

export const RETRY_AFTER_SECONDS = 6;

export interface Asked {
  readonly user: string;
  readonly name: string;
  readonly object: unknown;
  readonly oldObject: Pod;
  readonly options: { readonly gracePeriodSeconds?: number; readonly preconditions?: { readonly uid: string } };
  /** The time of the review, by the sandbox's clock. */
  readonly at: Date;
}

export interface Gate {
  /** Sets the answer to all future reviews. `release` answers the reviews that "hold" has delayed. */
  answer(verdict: Verdict | ((podName: string) => Verdict)): void;
  /** Returns the reviews of pods with this name since the last `forget`. Without a name, returns all reviews. */
  asked(podName?: string): readonly Asked[];
  /** Returns the number of reviews without an answer. Ignores callers that have disconnected. */
  held(): number;
  /** Returns the number of callers that have received the answer "later" and have not retried. */
  postponed(): number;
  /** Waits until `postponed` returns this number. */
  settle(callers: number): Promise<void>;
  /** Waits like `settle`, and then advances the clock until the callers retry. Does not wait for the answers. */
  pass(callers: number): Promise<void>;
  /** Answers the unanswered reviews of pods with this name. Without a name, answers all reviews. */
  release(verdict: "allow" | "deny", podName?: string): void;
  forget(): void;
  /** Sets how long the API server waits for the webhook, in real time. */
  setTimeout(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

const NAME = "gate.test.dev";
const COMPONENTS = [USERS.scheduler, USERS.nodeController, USERS.deviceTaintManager, USERS.karpenter].map(
  ({ user }) => user,
);
const webhookConfigurations: Resource<KubeObject & { webhooks: readonly object[] }> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

interface Review {
  readonly uid: string;
  readonly name: string;
  readonly userInfo: { readonly username: string };
  readonly object: unknown;
  readonly oldObject: Pod;
  readonly options: Asked["options"];
}

/**
 * Registers the webhook before the tests. After each test, deletes the recorded reviews and all pods in the namespace
 * `default`. Call the returned function only in tests and hooks.
 */
export function useGate(world: World): () => Gate {
  let gate: Gate | undefined;
  const started = () => {
    if (gate === undefined) throw new Error("the webhook is not registered yet: use the gate only in tests and hooks");
    return gate;
  };
  beforeAll(async () => void (gate = await startGate(world)));
  afterAll(() => gate?.stop());
  afterEach(async () => {
    const { client } = world.sandbox;
    started().answer("allow");
    started().release("allow");
    const all = async () => (await client.list(pods, "default")).items;
    for (const { metadata } of await all()) await client.delete(pods, metadata, { gracePeriodSeconds: 0 });
    await world.pass(async () => (await all()).length === 0 && started().postponed() === 0);
    started().forget();
  });
  return started;
}

async function startGate({ sandbox, clock }: World): Promise<Gate> {
  let answer: Verdict | ((podName: string) => Verdict) = "allow";
  let asked: Asked[] = [];
  let waiting: { readonly uid: string; readonly name: string; readonly response: ServerResponse }[] = [];
  const postponed = countTimers(clock, RETRY_AFTER_SECONDS * 1_000);
  const settle = (callers: number) => eventually(postponed).toBe(callers);

  const { certPem, keyPem } = await sandbox.authority.issue(["127.0.0.1"]);
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    const { uid, name, userInfo, object, oldObject, options } = (JSON.parse(body) as { request: Review }).request;
    asked.push({ user: userInfo.username, name, object, oldObject, options, at: clock.now() });
    const verdict = typeof answer === "string" ? answer : answer(name);
    if (verdict !== "hold") return send(response, uid, verdict);
    waiting.push({ uid, name, response });
    response.once("close", () => (waiting = waiting.filter((other) => other.response !== response)));
  };

  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await sandbox.client.create(webhookConfigurations, {
    metadata: { name: "gate" },
    webhooks: [
      {
        name: NAME,
        clientConfig: { url, caBundle: Buffer.from(sandbox.caPem).toString("base64") },
        rules: [{ operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        matchConditions: [
          {
            name: "components",
            expression: `request.userInfo.username in ${JSON.stringify(COMPONENTS)}`,
          },
        ],
        failurePolicy: "Ignore",
        timeoutSeconds: 30,
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });

  return {
    answer: (verdict) => void (answer = verdict),
    asked: (podName) => asked.filter(({ name }) => podName === undefined || name === podName),
    held: () => waiting.length,
    postponed,
    settle,
    async pass(callers) {
      await settle(callers);
      clock.advance(RETRY_AFTER_SECONDS * 1_000);
    },
    release(verdict, podName) {
      for (const { uid, name, response } of waiting)
        if (podName === undefined || name === podName) send(response, uid, verdict);
      waiting = waiting.filter(({ name }) => podName !== undefined && name !== podName);
    },
    forget: () => void (asked = []),
    async setTimeout(timeoutSeconds) {
      const body = [{ op: "replace", path: "/webhooks/0/timeoutSeconds", value: timeoutSeconds }];
      await sandbox.client.patch(webhookConfigurations, { name: "gate" }, { type: "json", body });
    },
    async stop() {
      await sandbox.client.delete(webhookConfigurations, { name: "gate" });
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function send(response: ServerResponse, uid: string, verdict: "allow" | "deny" | "later"): void {
  const details = verdict === "later" && { details: { retryAfterSeconds: RETRY_AFTER_SECONDS } };
  const denied = verdict !== "allow" && { status: { code: 429, message: "not now", ...details } };
  const answer = { uid, allowed: verdict === "allow", ...denied };
  response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }));
}

function countTimers(clock: SteppedClock, length: number): () => number {
  const pending = new Set<object>();
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (ms, fn) => {
    if (ms !== length) return setTimer(ms, fn);
    const timer = {};
    pending.add(timer);
    const cancel = setTimer(ms, () => {
      pending.delete(timer);
      fn();
    });
    return () => {
      pending.delete(timer);
      cancel();
    };
  };
  return () => pending.size;
}

export function disruptionTarget(pod: Pod | undefined): Condition | undefined {
  return pod?.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
}
