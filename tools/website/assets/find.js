"use strict";
// Pages that contain all the words, those with the words in their title first.
(() => {
  const input = document.getElementById("words-to-find"), list = document.getElementById("found");
  const score = ([address, title, text], words) => {
    const top = `${title} ${address}`.toLowerCase(), all = `${top} ${text.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) return 0;
    return 1 + words.filter((word) => top.includes(word)).length;
  };
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? window.certiformerPages.map((page) => [score(page, words), page]).filter(([points]) => points) : [];
    found.sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, 40).map(([, [address, title]]) => {
      const item = document.createElement("li"), link = document.createElement("a"), where = document.createElement("small");
      link.href = address;
      link.textContent = title;
      where.textContent = ` ${address}`;
      item.append(link, where);
      return item;
    }));
  };
  input.addEventListener("input", show);
  show();
})();
