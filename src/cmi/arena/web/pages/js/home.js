// The pages that say one thing: an invitation is needed, or there is no such page.
import { startPage } from "./header.js";

startPage();
