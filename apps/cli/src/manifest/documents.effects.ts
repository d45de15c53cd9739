import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { shownText, type CommandOutput } from '../output/format.js';
import { sourceText, type SourcedManifest } from '../document/manifest.document.js';

export const titleOf = ({ manifest: { kind, metadata }, source }: SourcedManifest): string =>
  `${String(kind)} ${metadata.name} (${sourceText(source)})`;

const textOf = ({ table }: CommandOutput, columns: number): string => shownText(table, columns).trimEnd();

const combined = (answers: readonly CommandOutput[]): CommandOutput => {
  const failed = answers.find(({ exit }) => exit !== undefined);
  return {
    data: answers.map(({ data }) => data),
    table: (columns) =>
      answers
        .map((answer) => textOf(answer, columns))
        .filter((text) => text !== '')
        .join('\n'),
    names: answers.flatMap(({ names }) => names),
    ...(failed?.exit === undefined ? {} : { exit: failed.exit }),
  };
};

/**
 * Processes the documents in order, and returns one answer. Stops at the first failure, after the results before it are
 * printed. `continues`: processes every document, whatever the result of another is.
 */
export const inTurn = async (
  io: Pick<Io, 'err'>,
  documents: readonly SourcedManifest[],
  one: (document: SourcedManifest) => Promise<CommandOutput>,
  { continues }: { readonly continues: boolean } = { continues: false },
): Promise<CommandOutput> => {
  const [first] = documents;
  if (first !== undefined && documents.length === 1) return one(first);
  const answers: CommandOutput[] = [];
  for (const document of documents) {
    const answer = await one(document).catch((error: unknown) => {
      const done = answers.map((one) => textOf(one, Number.POSITIVE_INFINITY).replace(/\.$/, '')).join('; ');
      io.err(`${titleOf(document)} failed${done === '' ? '' : `. Done before: ${done}`}.\n`);
      throw error;
    });
    answers.push(answer);
    if (answer.exit !== undefined && !continues) break;
  }
  return combined(answers);
};

/** An idempotency key identifies a single request. */
export const refuseSharedKey = (documents: readonly SourcedManifest[], key: string | undefined): void => {
  if (key !== undefined && documents.length > 1)
    throw usageFailure('--idempotency-key is for one document', `There are ${documents.length}.`);
};
