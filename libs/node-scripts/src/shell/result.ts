import { parseJsonOrUndefined } from '@fairlead/parsers';

const MARK = 'FAIRLEAD-RESULT ';
/** As much as is read of what a host prints. */
const RESULT_LENGTH_MAX = 4 * 1_048_576;

/** The structured result in what a script printed: its last marked line. undefined: there is none, or it is not JSON. */
export const parseResult = (stdout: string): unknown => {
  const line = stdout.split('\n').findLast((candidate) => candidate.startsWith(MARK));
  if (line === undefined) return undefined;
  return parseJsonOrUndefined(line.slice(MARK.length), { lengthMax: RESULT_LENGTH_MAX });
};
