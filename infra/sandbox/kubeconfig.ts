/** Makes kubeconfigs for the sandbox, as text or as objects. */
import { KubeConfig } from "@kubernetes/client-node";

export interface Credentials {
  readonly url: string;
  /** The CA of the server's certificate. It is absent if the server uses HTTP. */
  readonly caPem?: string;
  readonly user: string;
  readonly token: string;
}

const NAME = "sandbox";

export function kubeconfigOf({ url, caPem, user, token }: Credentials): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [
      {
        name: NAME,
        server: url,
        skipTLSVerify: caPem === undefined,
        ...(caPem !== undefined && { caData: Buffer.from(caPem).toString("base64") }),
      },
    ],
    users: [{ name: user, token }],
    contexts: [{ name: `${user}@${NAME}`, cluster: NAME, user }],
    currentContext: `${user}@${NAME}`,
  });
  return config;
}

/** Returns a kubeconfig as JSON, which is valid YAML. */
export function kubeconfigText(credentials: Credentials): string {
  return `${JSON.stringify(JSON.parse(kubeconfigOf(credentials).exportConfig()), null, 2)}\n`;
}
