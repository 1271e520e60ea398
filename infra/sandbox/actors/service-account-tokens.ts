/**
 * kube-controller-manager's token controller. It writes tokens into Secrets of type
 * kubernetes.io/service-account-token.
 */
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { keyOf, secrets, serviceAccounts, type Secret, type ServiceAccount } from "./resources.ts";

export interface TokenKeys {
  readonly caPem: string;
  readonly issueToken: (of: {
    readonly namespace: string;
    readonly secret: string;
    readonly account: string;
    readonly uid: string;
  }) => string;
}

const TYPE = "kubernetes.io/service-account-token";
const ACCOUNT_NAME = "kubernetes.io/service-account.name";
const ACCOUNT_UID = "kubernetes.io/service-account.uid";

export function startServiceAccountTokenController(options: ActorOptions & TokenKeys): Actor {
  const { client, caPem, issueToken } = options;
  const tokens = startInformer({ ...options, resource: secrets, selectors: { fieldSelector: `type=${TYPE}` } });
  const accounts = startInformer({ ...options, resource: serviceAccounts });

  const reconcile = async (key: string): Promise<Result> => {
    const secret = tokens.get(key);
    const name = secret?.metadata.annotations?.[ACCOUNT_NAME];
    if (secret === undefined || name === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
    const account = await accountOf(secret, name);
    if (account === undefined)
      await client.delete(secrets, secret.metadata, { preconditions: { uid: secret.metadata.uid } });
    else if (!isFilled(secret)) await fill(secret, name, account.metadata.uid);
  };

  /**
   * Reads the account from the API server. The cache can lack a new account, and the controller would then delete the
   * account's Secret.
   */
  const accountOf = async ({ metadata }: Secret, name: string): Promise<ServiceAccount | undefined> => {
    const account = await client.get(serviceAccounts, { namespace: metadata.namespace, name });
    const { [ACCOUNT_UID]: expected = account?.metadata.uid } = metadata.annotations ?? {};
    return account?.metadata.uid === expected ? account : undefined;
  };

  const fill = async (secret: Secret, name: string, accountUid: string) => {
    const { namespace = "" } = secret.metadata;
    const token = issueToken({ namespace, secret: secret.metadata.name, account: name, uid: accountUid });
    await client.update(secrets, {
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...secret.metadata.annotations, [ACCOUNT_UID]: accountUid } },
      data: { ...secret.data, token: base64(token), "ca.crt": base64(caPem), namespace: base64(namespace) },
    });
  };

  const controller = startController({ name: "serviceaccount-token", reconcile, ...options });
  controller.watch(tokens, (secret) => [keyOf(secret)]);
  accounts.onChange((account, previous) => {
    if (account === undefined && previous !== undefined)
      for (const secret of tokens.list()) if (belongsTo(secret, previous.metadata)) controller.enqueue(keyOf(secret));
  });
  return actorOf([controller], [tokens, accounts]);
}

function isFilled({ data = {} }: Secret): boolean {
  return ["token", "ca.crt", "namespace"].every((key) => data[key] !== undefined);
}

function belongsTo(secret: Secret, account: { readonly name: string; readonly namespace?: string }): boolean {
  const { namespace, annotations } = secret.metadata;
  return namespace === account.namespace && annotations?.[ACCOUNT_NAME] === account.name;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
