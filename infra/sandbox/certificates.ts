/** An in-memory certificate authority. */
// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 asks its user for this polyfill
import "reflect-metadata";
import { isIP } from "node:net";
import { randomBytes, type webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface Authority {
  readonly caPem: string;
  issue(hosts: readonly string[]): Promise<Certificate>;
  issueClient(commonName: string): Promise<Certificate>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await generateKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: `CN=${commonName}`,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  return {
    caPem: ca.toString("pem"),
    issue: (hosts) =>
      issue(ca, keys.privateKey, {
        commonName: hosts[0] ?? "localhost",
        usage: serverAuth,
        extensions: [namesOf(hosts)],
      }),
    issueClient: (commonName) => issue(ca, keys.privateKey, { commonName, usage: clientAuth, extensions: [] }),
  };
}

interface Wanted {
  readonly commonName: string;
  readonly usage: x509.ExtendedKeyUsage;
  readonly extensions: readonly x509.Extension[];
}

function namesOf(hosts: readonly string[]): x509.Extension {
  return new x509.SubjectAlternativeNameExtension(
    hosts.map((host) => ({ type: isIP(host) === 0 ? "dns" : "ip", value: host })),
  );
}

async function issue(
  ca: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
  { commonName, usage, extensions }: Wanted,
): Promise<Certificate> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: `CN=${commonName}`,
    issuer: ca.subject,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      ...extensions,
      await x509.AuthorityKeyIdentifierExtension.create(ca.publicKey),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certPem: certificate.toString("pem"), keyPem: x509.PemConverter.encode(pkcs8, "PRIVATE KEY") };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

/** Returns a random positive integer in DER. Its first bit is 0. */
function randomSerial(): string {
  return `01${randomBytes(15).toString("hex")}`;
}

/** Returns the validity. It starts yesterday, because the clocks of some containers are slow. */
function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + 3650 * DAY_MS) };
}
