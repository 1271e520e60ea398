/** Checks the server's certificate, and whether a caBundle trusts the certificate. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { HOST } from "./names.ts";
import type { CertificateFacts, Validity } from "../../shared/settings/certificate.ts";

/** Returns whether the certificate is valid for the server's Service and matches the key. Both are in PEM. */
export function isPair(certPem = "", keyPem = ""): boolean {
  try {
    const certificate = new X509Certificate(certPem);
    return certificate.checkHost(HOST) !== undefined && certificate.checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

/** Returns the certificates in a PEM text. Ignores text that is not a certificate. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

export function validityOf({ validFrom, validTo }: X509Certificate): Validity {
  return { notBefore: new Date(validFrom), notAfter: new Date(validTo) };
}

/** Decodes a caBundle of a webhook object. A caBundle is PEM in base64. */
export function pemOf(caBundle = ""): string {
  return Buffer.from(caBundle, "base64").toString();
}

/**
 * Returns whether a caBundle trusts a certificate (PEM), and how long the certificate chain is valid. `certPem` can
 * contain CA certificates after the server's certificate.
 */
export function trustIn(caBundle: string, certPem: string): CertificateFacts {
  const [leaf, ...authorities] = certificatesIn(certPem);
  if (leaf === undefined) return { trusted: false, chain: [] };
  const trusted = certificatesIn(pemOf(caBundle));
  const isTrusted = (one: X509Certificate) =>
    trusted.some(({ fingerprint256 }) => fingerprint256 === one.fingerprint256);
  const chain = [leaf];
  for (let last = leaf; !isTrusted(last);) {
    const issuer = [...trusted, ...authorities].find((one) => !chain.includes(one) && hasIssued(one, last));
    if (issuer === undefined) return { trusted: false, chain: [validityOf(leaf)] };
    chain.push(issuer);
    last = issuer;
  }
  return { trusted: true, chain: chain.map(validityOf) };
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
