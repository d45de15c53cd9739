import { parseJsonOrUndefined } from '@fairlead/parsers';

const MARK = 'FAIRLEAD-RESULT ';
/** Maximum length of a host's output that is read. */
const RESULT_LENGTH_MAX = 4 * 1_048_576;

/** The structured result in a script's output: its last marked line. undefined: missing, or not JSON. */
export const parseResult = (stdout: string): unknown => {
  const line = stdout.split('\n').findLast((candidate) => candidate.startsWith(MARK));
  if (line === undefined) return undefined;
  return parseJsonOrUndefined(line.slice(MARK.length), { lengthMax: RESULT_LENGTH_MAX });
};
