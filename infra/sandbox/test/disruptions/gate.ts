/**
 * A webhook that reviews deletions of pods by Kubernetes' own components, and answers as the test wants.
 * Owns: the webhook, the reviews it got. Does not own: expectations.
 */
import { createServer } from "node:https";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Condition } from "../../actors/conditions.ts";
import type { Pod, Resource, KubeObject } from "../../actors/resources.ts";
import type { World } from "../with-sandbox.ts";

export type Verdict = "allow" | "deny" | "hold";

export interface Asked {
  readonly user: string;
  readonly name: string;
  readonly object: unknown;
  readonly oldObject: Pod;
  readonly options: { readonly gracePeriodSeconds?: number };
  /** In the sandbox's time. */
  readonly at: Date;
}

export interface Gate {
  /** Sets the answer to later reviews; `release` answers those on `hold`. */
  answer(verdict: Verdict | ((podName: string) => Verdict)): void;
  /** The reviews of pods of this name (by default, all) since the last `forget`. */
  asked(podName?: string): readonly Asked[];
  /** How many wait for an answer; a caller that has hung up does not count. */
  held(): number;
  /** Answers all reviews on hold. */
  release(verdict: "allow" | "deny"): void;
  forget(): void;
  /** How long the API server waits for an answer, in real time. */
  setTimeout(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

const NAME = "gate.test.dev";
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

export async function startGate({ sandbox, clock }: World): Promise<Gate> {
  let answer: Verdict | ((podName: string) => Verdict) = "allow";
  let asked: Asked[] = [];
  let waiting: { readonly uid: string; readonly response: ServerResponse }[] = [];

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
    waiting.push({ uid, response });
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
            expression: `request.userInfo.username in ["system:kube-scheduler", "system:serviceaccount:kube-system:node-controller"]`,
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
    release(verdict) {
      for (const { uid, response } of waiting) send(response, uid, verdict);
      waiting = [];
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

function send(response: ServerResponse, uid: string, verdict: "allow" | "deny"): void {
  const denied = verdict === "deny" && { status: { code: 429, message: "not now" } };
  const answer = { uid, allowed: verdict === "allow", ...denied };
  response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }));
}

export function disruptionTarget(pod: Pod | undefined): Condition | undefined {
  return pod?.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
}
