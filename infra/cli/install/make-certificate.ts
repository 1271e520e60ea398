/**
 * Makes the self-signed certificate that Lifeboat serves in the cluster. There is no CA, because a CA's key in the same
 * Secret could sign certificates for other hosts. Node.js cannot write X.509, so @peculiar/x509 writes the certificate.
 */
// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 asks its user for this polyfill
import "reflect-metadata";
import { randomBytes } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type { Validity } from "../../../shared/settings/certificate.ts";
import type { Pair } from "../../server/listener.ts";

const DAY_MS = 86_400_000;
const LIFE_MS = 3650 * DAY_MS;
/** The time by which the certificate is backdated, because the API server's clock can be behind. */
const BACKDATED_MS = 3_600_000;

export function validityFrom(now: Date): Validity {
  const from = now.getTime() - BACKDATED_MS;
  return { notBefore: new Date(from), notAfter: new Date(from + LIFE_MS) };
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export async function makeCertificate(host: string, validity: Validity): Promise<Pair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // The first byte 01 makes the serial number a positive integer in DER.
    serialNumber: `01${randomBytes(15).toString("hex")}`,
    // OpenSSL finds a trusted certificate by its subject, so no two certificates have the same subject.
    name: `CN=${host}@${validity.notBefore.getTime()}`,
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      // The name `localhost` is for `kubectl port-forward`.
      new x509.SubjectAlternativeNameExtension([host, "localhost"].map((value) => ({ type: "dns", value }))),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certPem: certificate.toString("pem"), keyPem: x509.PemConverter.encode(pkcs8, "PRIVATE KEY") };
}
