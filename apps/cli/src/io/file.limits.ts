import type { YamlLimits } from '@fairlead/parsers';

/** The limits of a file from the user or for the user. */
export const FILE_LIMITS: YamlLimits = { lengthMax: 4 * 1_048_576, valuesMax: 200_000, aliases: 'allowed' };
