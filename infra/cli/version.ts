/** `lifeboat version`: of the command. What runs in the cluster is doctor's to say. */
import { VERSION } from "../../functions/metrics.ts";
import { type Command, noWords, readCommand } from "./command.ts";
import { EXIT } from "./exit-code.ts";

export const version: Command = {
  words: ["version"],
  summary: "the version of this command",
  usage: "version\n",
  flags: {},
  async run(args, host) {
    noWords(readCommand(args, {}).positionals);
    host.stdout.write(`${VERSION}\n`);
    return await Promise.resolve(EXIT.done);
  },
};
