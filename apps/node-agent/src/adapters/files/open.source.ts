import { isUrl } from '@fairlead/contracts';
import type { OpenSource } from '../../files/files.ports.js';
import { folderSource } from './folder.source.js';
import { urlSource } from './url.source.js';

export const openSource: OpenSource = (location, files) =>
  isUrl(location) ? urlSource(location, files) : folderSource(location, files);
