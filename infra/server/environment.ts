/** The server's configuration: environment variables, parsed once at start. None is a secret. */
import * as z from "zod/mini";
import type { Parsed } from "../../shared/config/problem.ts";
import { parseVariables, Port } from "../relay/config.ts";

const Environment = z.object({
  /** In the paths of the endpoints, as a key of the Worker's `CLUSTERS` is. */
  LIFEBOAT_CLUSTER: z._default(
    z.string().check(z.regex(/^[\w.-]+$/, "expected letters, digits, `-`, `_` or `.`")),
    "local",
  ),
  /** Of this replica, in the Lease: each has another one. */
  POD_NAME: z.string("expected the name of this pod").check(z.minLength(1, "expected the name of this pod")),
  /** Of the endpoints, over TLS. */
  HTTPS_PORT: z._default(Port, 8443),
  /** Of /healthz, /readyz and /metrics. */
  PORT: z._default(Port, 8080),
  /** Set by Kubernetes in every pod. */
  KUBERNETES_SERVICE_HOST: z.string("expected to run in a pod"),
  /** Where the pod's file system begins, for a process that only plays a pod. */
  POD_ROOT: z._default(z.string(), ""),
});

export interface Environment {
  readonly cluster: string;
  readonly identity: string;
  readonly httpsPort: number;
  readonly port: number;
  readonly root: string;
}

export function parseEnvironment(env: Readonly<Record<string, string | undefined>>): Parsed<Environment> {
  const parsed = parseVariables(Environment, env);
  if (!parsed.ok) return parsed;
  const { LIFEBOAT_CLUSTER, POD_NAME, HTTPS_PORT, PORT, POD_ROOT } = parsed.value;
  const ports = { httpsPort: HTTPS_PORT, port: PORT };
  return { ok: true, value: { cluster: LIFEBOAT_CLUSTER, identity: POD_NAME, ...ports, root: POD_ROOT } };
}
