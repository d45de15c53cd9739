import { isUrl } from '@fairlead/contracts';
import type { OpenSource } from '../../files/files.ports.js';
import { folderSource } from './folder.source.js';
import { urlSource } from './url.source.js';

export const openSource: OpenSource = (location, files, proxy) =>
  isUrl(location) ? urlSource(location, files, { proxy }) : folderSource(location, files);
