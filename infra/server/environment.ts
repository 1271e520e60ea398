/** Parses the server's environment variables once at start. No variable contains a secret. */
import * as z from "zod/mini";
import type { Parsed } from "../../shared/settings/problem.ts";
import { parseVariables, Port } from "../relay/config.ts";
import { CLUSTER_VARIABLE, DEFAULT_CLUSTER } from "./names.ts";
import { SERVER_MESSAGES as MESSAGES } from "./messages.ts";

const Variables = z.pipe(
  z.object({
    [CLUSTER_VARIABLE]: z._default(z.string().check(z.regex(/^[\w.-]+$/, MESSAGES.clusterName)), DEFAULT_CLUSTER),
    /** The name of this pod. While this pod holds the Lease, the Lease contains this name. */
    POD_NAME: z.string(MESSAGES.podName).check(z.minLength(1, MESSAGES.podName)),
    HTTPS_PORT: z._default(Port, 8443),
    /** The port of /healthz, /readyz and /metrics. */
    PORT: z._default(Port, 8080),
    /** The address of the API server. Kubernetes sets this variable in every pod. */
    KUBERNETES_SERVICE_HOST: z.string(MESSAGES.notInPod),
    /** The root folder of the pod's files. Tests set it to run the server outside of a pod. */
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
