/** Checks that Lifeboat's Secret, the webhooks' paths and the webhooks' caBundles match. */
import { judgeCertificate } from "../../../shared/settings/certificate.ts";
import { WEBHOOK_ENDPOINTS, webhookState } from "../../../shared/settings/webhooks.ts";
import { certificatesIn, trustIn } from "../../server/certificate.ts";
import { lackOf, partsOf, type ServerSecret } from "../../server/secret.ts";
import { isOwn } from "../install/trusted.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import { readable } from "./check.ts";
import { conditionOf } from "./installation.ts";
import { isInCluster, type DoctorReads } from "./reads.ts";

const SECRET = "Secret lifeboat-server";
const UNSERVED = "a new replica cannot serve, and running replicas keep their earlier certificate";

export async function identity(reads: DoctorReads): Promise<readonly Finding[]> {
  if (!(await isInCluster(reads))) return [];
  const { secret, cluster, webhooks } = await reads.identity();
  if (secret === undefined) return [failed(`there is no ${SECRET}`, UNSERVED, "lifeboat install")];
  const parts = partsOf(secret);
  const lacks = lackOf(parts);
  const fix = fixOf(secret);
  if (lacks.length > 0) return [failed(`${SECRET} has no ${lacks.join(", no ")}`, UNSERVED, fix)];
  const { pair: { certPem } = { certPem: "" }, webhookToken: tokens = [] } = parts;
  // Treats all feature gates as off, so that this check does not report missing webhooks of the guard.
  const settings = { featureGates: [] };
  const trust = (caBundle: string) => trustIn(caBundle, certPem);
  const states = WEBHOOK_ENDPOINTS.flatMap(
    (endpoint) => webhookState(webhooks[endpoint], { endpoint, cluster, tokens, settings, trust }) ?? [],
  );
  const problems = states.flatMap(({ problem }) => problem?.message.replace(/: run lifeboat install$/, "") ?? []);
  const mismatch = `${SECRET} and Lifeboat's webhooks do not match`;
  const fitting = `${SECRET}, the paths of Lifeboat's webhooks and their caBundles match`;
  const together = problems.length === 0 ? ok(fitting) : failed(mismatch, problems, fix);
  const { ok: isValid, reason, message } = judgeCertificate(trustedOr(states, certPem), reads.now);
  if (!isValid) return [together, failed(message, "the API server cannot call Lifeboat's webhooks", fix)];
  return [
    together,
    ...(reason === "ExpiresSoon" ? [warning(message, "nothing renews the certificate automatically", fix)] : []),
  ];
}

function trustedOr(states: readonly { readonly chain?: ReturnType<typeof trustIn>["chain"] }[], certPem: string) {
  const chain = states.flatMap((state) => state.chain ?? []);
  return chain.length > 0 ? chain : trustIn("", certPem).chain;
}

function fixOf({ isCertManagers, data }: ServerSecret): string {
  if (isCertManagers) return "kubectl -n lifeboat-system describe certificate lifeboat-server; lifeboat install";
  const [certificate] = certificatesIn(data["tls.crt"] ?? "");
  const isBrought = certificate !== undefined && !isOwn(certificate);
  return isBrought ? "lifeboat install --ca-bundle FILE (FILE: the CA of your certificate)" : "lifeboat install";
}

/** Reports the condition `CertificateValid`. Skips the check if the LifeboatConfiguration is missing or unreadable. */
export async function certificateValid(reads: DoctorReads): Promise<readonly Finding[]> {
  return (await readable(reads.configuration)) ? await conditionOf("CertificateValid", reads) : [];
}
