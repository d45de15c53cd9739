import type { YamlLimits } from '@fairlead/parsers';

/** What a file of the user, or what it is written for, may have. */
export const FILE_LIMITS: YamlLimits = { lengthMax: 4 * 1_048_576, valuesMax: 200_000, aliases: 'allowed' };
