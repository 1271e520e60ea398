/** The command line of `npm run chaos`. */
import { countOf, FLAG, HELP, nameOf, notEmpty, readFlags, TEXT, TEXTS } from "../../tools/console/arguments.ts";
import { aligned } from "../../tools/console/table.ts";
import { type FormName, FORMS } from "./form.ts";
import { FAULTS, FAULT_NAMES, type FaultName } from "./fault-table.ts";

export const USAGE = `Usage: npm run chaos [-- --runs N] [--seed S] [--from K] [--vms M] [--only FAULT…] [--form F] [--jobs J]

  --runs N      how many runs (default: 20)
  --seed S      what the plans are drawn from (default: a new one, which is printed)
  --from K      the first run (default: 1); with --runs 1 this repeats one run's plan
  --vms M       VMs on the drained node, instead of a number drawn
  --only FAULT  only this fault, instead of some drawn; may be given several times
  --form F      ${FORMS.join(" or ")}, instead of the one drawn
  --jobs J      processes at a time, each with a cluster of its own (default: 1)
  --verbose     also what the Workers write
  --help        show this text

Faults:
${aligned(FAULT_NAMES.map((name) => [`  ${name}`, FAULTS[name].says])).join("\n")}
`;

export interface Arguments {
  readonly runs: number;
  readonly from: number;
  readonly seed: string;
  readonly vms?: number;
  readonly only?: readonly FaultName[];
  readonly form?: FormName;
  readonly jobs: number;
  readonly verbose: boolean;
  readonly help: boolean;
}

export function parseArguments(args: readonly string[], newSeed: () => string): Arguments {
  const numbers = { runs: TEXT, from: TEXT, vms: TEXT, jobs: TEXT };
  const options = { ...numbers, seed: TEXT, form: TEXT, only: TEXTS, verbose: FLAG, help: HELP };
  const { runs = "20", from = "1", jobs = "1", ...flags } = readFlags(args, options);
  const { seed = newSeed(), vms, only, form, verbose, help } = flags;
  return {
    runs: countOf("--runs", runs),
    from: countOf("--from", from),
    jobs: countOf("--jobs", jobs),
    seed: notEmpty("--seed", seed, "a text"),
    ...(vms !== undefined && { vms: countOf("--vms", vms) }),
    ...(only !== undefined && { only: only.map((name) => nameOf(FAULT_NAMES, name, "--only: there is no fault")) }),
    ...(form !== undefined && { form: nameOf(FORMS, form, "--form: there is no form") }),
    verbose,
    help,
  };
}
