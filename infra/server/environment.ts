/** The server's configuration: environment variables, parsed once at start. No variable is a secret. */
import * as z from "zod/mini";
import type { Parsed } from "../../shared/settings/problem.ts";
import { parseVariables, Port } from "../relay/config.ts";
import { CLUSTER_VARIABLE, DEFAULT_CLUSTER } from "./names.ts";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

const Variables = z.pipe(
  z.object({
    /** The cluster's name in the paths of the endpoints. */
    [CLUSTER_VARIABLE]: z._default(z.string().check(z.regex(/^[\w.-]+$/, MESSAGES.clusterName)), DEFAULT_CLUSTER),
    /** The unique name of this replica in the Lease. */
    POD_NAME: z.string(MESSAGES.podName).check(z.minLength(1, MESSAGES.podName)),
    /** The port of the endpoints, over TLS. */
    HTTPS_PORT: z._default(Port, 8443),
    /** The port of /healthz, /readyz and /metrics. */
    PORT: z._default(Port, 8080),
    /** The API server's address, which Kubernetes sets in every pod. */
    KUBERNETES_SERVICE_HOST: z.string(MESSAGES.notInPod),
    /** The root of the pod's file system. Tests set it, to run the server as a process outside of a pod. */
    POD_ROOT: z._default(z.string(), ""),
  }),
  z.transform((env) => ({
    cluster: env[CLUSTER_VARIABLE],
    identity: env.POD_NAME,
    httpsPort: env.HTTPS_PORT,
    port: env.PORT,
    root: env.POD_ROOT,
  })),
);

export type Environment = z.output<typeof Variables>;

export function parseEnvironment(env: Readonly<Record<string, string | undefined>>): Parsed<Environment> {
  return parseVariables(Variables, env);
}
