/** Starts an API server in a separate process, so that its CPU time can be measured. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import {
  applyManifests,
  createClient,
  type KubeClient,
  kubeconfigOf,
  kubeconfigText,
  KUBEVIRT,
  KUBEVIRT_RBAC,
  USERS,
} from "../../sandbox/index.ts";
import { manifestsIn } from "../../cli/install/manifests.ts";
import { configureLifeboat, definitions } from "../stage/apply.ts";
import { startChild } from "./child.ts";

export interface MeasuredApiServer {
  readonly url: string;
  readonly caPem: string;
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly lifeboatToken: string;
  /** Delays each request that Lifeboat sends after this call. */
  delay(milliseconds: number): void;
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

const LIFEBOAT = {
  user: "system:serviceaccount:lifeboat-system:lifeboat",
  groups: ["system:serviceaccounts", "system:serviceaccounts:lifeboat-system"],
};
const SHIPPED = ["namespace.yaml", "serviceaccount.yaml", "rbac.yaml"];
const Started = z.object({ url: z.string(), caPem: z.string() });

export async function startMeasuredApiServer(): Promise<MeasuredApiServer> {
  const adminToken = randomBytes(24).toString("hex");
  const lifeboatToken = randomBytes(24).toString("hex");
  const child = startChild("api-server-process.ts", { [adminToken]: USERS.admin, [lifeboatToken]: LIFEBOAT });
  const started = await child.next(Started);
  const credentials = { ...started, user: USERS.admin.user, token: adminToken };
  const client = createClient(kubeconfigOf(credentials));
  return {
    ...started,
    client,
    kubeconfig: kubeconfigText(credentials),
    lifeboatToken,
    delay: (milliseconds) => child.tell({ milliseconds, user: LIFEBOAT.user }),
    cpuMs: () => child.cpuMs(),
    async stop() {
      client.close();
      await child.stop();
    },
  };
}

export async function installLifeboat(
  client: KubeClient,
  configuration: Readonly<Record<string, unknown>>,
): Promise<void> {
  const shipped = SHIPPED.flatMap((file) => manifestsIn(`kubernetes/${file}`));
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT, ...definitions(), ...shipped]);
  await configureLifeboat(client, configuration);
}
