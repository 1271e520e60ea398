/** The relay's configuration, parsed once from environment variables. */
import * as z from "zod/mini";
import { isBaseUrl, RelaySecret } from "../../shared/settings/clusters.ts";
import { type Parsed, parseConfig } from "../../shared/settings/problem.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

export const Port = z.pipe(
  z.string().check(z.regex(/^\d{1,5}$/, MESSAGES.port)),
  z.pipe(z.transform(Number), z.number().check(z.maximum(65_535, MESSAGES.port))),
);

const Environment = z.pipe(
  z.object({
    LIFEBOAT_URL: z.string(MESSAGES.url).check(z.refine(isBaseUrl, MESSAGES.httpsUrl)),
    /** This cluster's name in the Worker's `CLUSTERS`. */
    LIFEBOAT_CLUSTER: z.string(MESSAGES.cluster).check(z.minLength(1, MESSAGES.cluster)),
    /** The `relaySecret` of this cluster's entry in the Worker's `CLUSTERS`. */
    LIFEBOAT_RELAY_SECRET: RelaySecret,
    /** The path of a kubeconfig. If absent, the relay uses its pod's service account. */
    KUBECONFIG: z.exactOptional(z.string().check(z.minLength(1, MESSAGES.kubeconfig))),
    /** The port of /healthz, /readyz and /metrics. */
    PORT: z._default(Port, 8080),
  }),
  z.transform((env) => ({
    endpoint: new URL(
      `${env.LIFEBOAT_URL.replace(/\/+$/, "")}/clusters/${encodeURIComponent(env.LIFEBOAT_CLUSTER)}/events`,
    ),
    secret: env.LIFEBOAT_RELAY_SECRET,
    kubeconfig: env.KUBECONFIG,
    port: env.PORT,
  })),
);

export type Config = z.output<typeof Environment>;

type Variables = Readonly<Record<string, string | undefined>>;

/** Parses environment variables. An error contains the name of the variable. */
export function parseVariables<S extends z.ZodMiniType>(schema: S, env: Variables): Parsed<z.output<S>> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  const parsed = parseConfig(schema, set, "");
  if (parsed.ok) return parsed;
  return { ok: false, problems: parsed.problems.map((p) => ({ ...p, field: p.field.replace(/^\./, "") })) };
}

export function parseRelayEnvironment(env: Variables): Parsed<Config> {
  const parsed = parseVariables(Environment, env);
  if (!parsed.ok || parsed.value.kubeconfig !== undefined || env["KUBERNETES_SERVICE_HOST"] !== undefined)
    return parsed;
  return { ok: false, problems: [{ field: "KUBECONFIG", message: MESSAGES.kubeconfigOutsidePod }] };
}
