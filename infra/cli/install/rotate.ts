/** `lifeboat rotate`: another token of Lifeboat's account for the Worker, and the end of the one that it had. */
import { type Add, EXIT, timeout } from "../command.ts";
import { Failed } from "../failed.ts";
import { createToken, deleteToken, listTokens, readToken } from "./token.ts";
import { until } from "./apply.ts";
import { clusterNameOf, giveEntry, readEntry, replaceToken } from "./worker-entry.ts";

/** So long may a Worker use an older entry. */
const OLDER_ENTRY_SECONDS = 90;

export const rotate: Add = (program, { host, connect, ends }) => {
  program
    .command("rotate")
    .description(
      `Makes another token of Lifeboat's account and writes it into the Worker's entry for this cluster. Once the API
server has seen the token in use, it waits until no Worker has the old one any more, and deletes the Secret of the old one,
which revokes it.

A token that has leaked is revoked at once by deleting its Secret; then rotate. In the cluster there is nothing to rotate: the
kubelet renews the token every hour.`,
    )
    .option("--cluster <name>", "the cluster's name in the Worker (default: the context's name)")
    .option("--entry <file>", "the Worker's entry for this cluster (default: lifeboat-NAME.json)")
    .addOption(timeout("how long to wait for the Worker", "10m"))
    .action(
      ends(async (options) => {
        const { send, context } = connect();
        const cluster = clusterNameOf(options.cluster, context);
        const file = options.entry ?? `lifeboat-${cluster}.json`;
        const entry = await readEntry(file, cluster);
        if (entry === undefined) {
          const hint =
            "if the Worker knows it by another name, say --cluster NAME; if its entry is elsewhere, --entry FILE";
          throw new Failed(`there is no ${file}, the Worker's entry for cluster "${cluster}": ${hint}`);
        }
        const before = await listTokens(send());
        const made = await createToken(send, host);
        await replaceToken(file, made.token);
        const old = before.find(({ token }) => token === entry.token);
        if (old !== undefined)
          host.stderr.write(`Secret ${old.name}, with the old token, stays until the Worker has the new one.\n`);
        host.stderr.write(`The Worker needs the new token. ${giveEntry(file, cluster)}`);
        await until("the Worker has not used its new token", { host, seconds: options.timeout }, async () => {
          return (await readToken(send(), made.name))?.isUsed || undefined;
        });
        host.stderr.write("√ the Worker uses its new token\n");
        if (old !== undefined) {
          host.stderr.write(`For ${OLDER_ENTRY_SECONDS} s more it may use the old one as well. Waiting …\n`);
          await host.wait(OLDER_ENTRY_SECONDS * 1000);
          if (host.interrupted.aborted) return EXIT.interrupted;
          await deleteToken(send(), old.name, host);
        }
        return EXIT.done;
      }),
    );
};
