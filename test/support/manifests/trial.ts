/** Defines an action that Lifeboat performs in a cluster, and that needs permissions. */
import { COOKIE, signGrant } from "../../../functions/page/session.ts";
import type { KubeObject, Resource } from "../../../infra/sandbox/index.ts";
import { type Answer, asOperator, asWebhook, type App } from "../app.ts";
import { NAMESPACE, type SandboxCluster } from "../installed/worker.ts";

export interface Evacuation extends KubeObject {
  readonly spec?: { readonly virtualMachineInstance: { readonly name: string } } & Readonly<Record<string, unknown>>;
  readonly status?: { readonly phase?: string; readonly completionTime?: string };
}

export const evacuations: Resource<Evacuation> = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "Evacuation",
  plural: "evacuations",
  namespaced: true,
};

export const VMI = { namespace: NAMESPACE, name: "web" };
export const POD = { namespace: NAMESPACE, name: "virt-launcher-web-abcde" };
export const SECOND = { namespace: NAMESPACE, name: "db" };
export const SECOND_POD = { namespace: NAMESPACE, name: "virt-launcher-db-abcde" };
export const PENDING = { namespace: NAMESPACE, name: "pending" };
export const NODE = { name: "node01" };

export interface Trial {
  readonly cluster: SandboxCluster;
  readonly app: App;
}

export interface Steps {
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly given?: (trial: Trial) => Promise<unknown>;
  /** Performs the action. Resolves to Lifeboat's answer, or to undefined if the action sends no request. */
  readonly done: (trial: Trial) => Promise<Answer | undefined>;
  /** Makes changes of other clients before Lifeboat sends a request. */
  readonly meanwhile?: (trial: Trial, request: string, body: unknown) => Promise<void>;
}

export async function visit({ cluster, app }: Trial, path: string): Promise<Answer> {
  const until = Math.floor(app.now().getTime() / 1000) + 60;
  const grant = { cluster: "prod", name: "jane", until };
  const cookie = `${COOKIE}=${await signGrant(grant, { ...cluster.entry, headers: {} })}`;
  const answer = await app.request(`/fleet/prod${path}`, { headers: { cookie } });
  await app.settle();
  return answer;
}

export async function ask({ app }: Trial, method: string, path: string): Promise<Answer> {
  const headers = method === "POST" ? asWebhook : asOperator;
  const answer = await app.request(`/clusters/prod${path}`, { method, headers });
  await app.settle();
  return answer;
}
