// node test/mock/main.mjs [port]: the mock console, for looking at the pages.

import { startMock } from "./server.mjs";

const { url } = await startMock({ port: Number(process.argv[2] ?? 5051) });
console.log(url);
