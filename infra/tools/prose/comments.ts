/**
 * A plugin of oxlint, which checks that comments and test titles are plain English. Each file must start with a
 * comment. The comment of an exported function must start with a verb.
 */
import { problemsOf, startsWithVerb } from "./plain-english.ts";

interface Position {
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

interface Comment extends Position {
  readonly type: string;
  readonly value: string;
}

interface Statement extends Position {
  readonly type: string;
  readonly declaration?: { readonly type: string } | null;
}

interface Call {
  readonly callee: { readonly name?: string; readonly object?: Call["callee"]; readonly callee?: Call["callee"] };
  readonly arguments: readonly (Position & { readonly type: string; readonly value?: unknown })[];
}

interface Context {
  readonly sourceCode: { getAllComments(): readonly Comment[] };
  report(problem: { readonly node: Position; readonly message: string }): void;
}

const textOf = ({ value }: Comment): string => value.replaceAll(/^\s*\*+/gmu, " ").trim();

/** Joins consecutive line comments. */
function textsOf(comments: readonly Comment[]): readonly { readonly node: Comment; readonly text: string }[] {
  const texts: { node: Comment; text: string; end: number }[] = [];
  for (const comment of comments) {
    const text = textOf(comment);
    const last = texts.at(-1);
    const continues = comment.type === "Line" && last?.node.type === "Line" && last.end + 1 === comment.loc.start.line;
    if (continues) Object.assign(last, { text: `${last.text} ${text}`, end: comment.loc.end.line });
    else texts.push({ node: comment, text, end: comment.loc.end.line });
  }
  return texts;
}

const IS_DIRECTIVE = /^\s*(?:prettier-ignore|oxlint-|eslint-|@ts-|#)/;

const comments = {
  create: (context: Context) => ({
    Program() {
      for (const { node, text } of textsOf(context.sourceCode.getAllComments())) {
        if (IS_DIRECTIVE.test(text)) continue;
        // Code in backquotes is treated as one word.
        for (const { sentence, message } of problemsOf({ text: text.replaceAll(/`[^`]*`/gu, "Code") })) {
          context.report({ node, message: `"${sentence.slice(0, 60)}" ${message}` });
        }
      }
    },
  }),
};

const verbs = {
  create: (context: Context) => ({
    Program({ body }: { readonly body: readonly Statement[] }) {
      const functions = body.filter(({ declaration }) => declaration?.type === "FunctionDeclaration");
      const starts = new Set(functions.map(({ loc }) => loc.start.line));
      for (const node of context.sourceCode.getAllComments()) {
        if (node.type !== "Block" || !starts.has(node.loc.end.line + 1) || startsWithVerb(textOf(node))) continue;
        const message = `"${textOf(node).slice(0, 60)}" is about a function: start with its verb, as in "Returns …"`;
        context.report({ node, message });
      }
    },
  }),
};

const headers = {
  create: (context: Context) => ({
    Program({ body: [statement] }: { readonly body: readonly Statement[] }) {
      const [first] = context.sourceCode.getAllComments();
      // A shebang may stand above the comment.
      if (statement === undefined || (first !== undefined && first.loc.start.line <= 2)) return;
      context.report({ node: statement, message: "start the file with a comment that says what the file is for" });
    },
  }),
};

/** Returns the name of the called function. The name of `test.each(rows)` is `test`. */
const nameOf = ({ name, object, callee }: Call["callee"]): string => {
  const inner = object ?? callee;
  return inner === undefined ? (name ?? "") : nameOf(inner);
};

const titles = {
  create: (context: Context) => ({
    CallExpression({ callee, arguments: [title] }: Call) {
      if (typeof title?.value !== "string" || !["test", "describe"].includes(nameOf(callee))) return;
      for (const { sentence, message } of problemsOf({ text: title.value })) {
        context.report({ node: title, message: `"${sentence.slice(0, 60)}" ${message}` });
      }
    },
  }),
};

const plugin = { meta: { name: "prose" }, rules: { comments, headers, titles, verbs } };
export default plugin;
