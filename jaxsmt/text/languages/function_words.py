"""The most frequent function words of a language: what shows in a few lines which language a text is in.

Words that two languages share are in both lists, so that they speak for neither where these two are compared.
"""

from jaxsmt.text.languages.codes import base_code

_FUNCTION_WORDS = {
    "en": "the of and to a in is that for it with as be on by this are from at or an not was which you have has will "
    "can if all their they he his her she we our were been but may shall when there no its your would who what so than "
    "then them these those any into only other do does did must should could about up out more some such i my me him "
    "us am also where how because over under before after",
    "fr": "le la les de du des et à au aux un une en est que qui dans pour sur par pas ne se ce ces cette il elle ils "
    "elles on nous vous je tu son sa ses leur leurs avec sont être été ou où mais plus sans si comme tout tous toute "
    "fait peut doit lui y avait était qu cet moi me te mon ma mes votre vos notre nos dont entre même aussi très donc "
    "car ainsi sous chez lorsque or",
    "de": "der die das und in den von zu mit des dem ein eine einen einem einer eines ist im auf für nicht sich als "
    "auch es an werden wird aus er sie wir ihr ich du bei oder nach dass daß um am hat haben sind wie war nur noch "
    "über so zum zur kann wenn ihre sein seine man vor durch bis aber mich mir dir dich ihn ihm ihnen uns euch unter "
    "sehr kein keine diese dieser dieses diesem diesen soll muss müssen können zwischen gegen ohne",
    "es": "el la los las de del y a en un una unos unas que es por para con no se su sus al lo como más pero o este "
    "esta estos estas ser son está fue ha si sin sobre entre cuando muy ya también todo todos hay le les yo tú él ella "
    "nos me te mi tu desde hasta donde porque esto eso puede cada otro otra qué ni",
    "it": "il lo la i gli le di del della dei degli delle dello e a al alla ai alle un una uno che è in per con non "
    "si da dal dalla su sul sulla nel nella nei come più ma o questo questa questi queste sono essere ha anche se ci "
    "mi ti tra fra suo sua suoi sue loro io tu lui lei noi voi era stato può ogni quando dove perché cui ed né",
    "pt": "o a os as de do da dos das e em no na nos nas um uma uns umas que é por para com não se ao à aos às pelo "
    "pela seu sua seus suas como mais mas ou este esta isto esse essa ser são está foi há sem sobre entre quando muito "
    "já também todo todos eu tu ele ela nós me te meu minha até onde porque pode cada outro outra lhe num numa",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als door maar bij uit naar dan of nog "
    "wel deze dit die wordt worden was werd heeft hebben kan kunnen moet zal zou over tot geen meer hij zij ze wij we "
    "ik je u hun haar hem mij jij mijn uw ons onze wat wie waar hoe wanneer omdat tussen onder alle",
    "pl": "i w na z do że się nie jest to o jak po od za przez dla przy oraz ale co czy jego jej ich są był była było "
    "być tym tego ten ta te który która które ze lub może już tylko także też a by tak są gdy aby pod nad przed między "
    "bez ja ty on ona my wy mnie mi ci cię go jeśli jako został ma u we",
    "cs": "a v na se že je z do s i to o k pro za by ale jako po od při ve jsou byl byla bylo být jeho její jejich "
    "ten ta to tento tato toto který která které nebo už jen také tak když aby pod nad před mezi bez já ty on ona my "
    "vy mi ho mu si co jak není u ze ke lze pokud může však",
    "ru": "и в не на что с по как это из у к за от для о он она они мы вы я ты но а же бы то его её ее их был была "
    "было быть все так если или при до также который которая которые этот эта эти может только уже под над перед между "
    "без чтобы когда где есть нет ещё еще мне меня вас нас со во",
    "sv": "och i att det som en på är av för med den till inte om har de ett han var jag från kan vi men så eller när "
    "ska skall vid efter än också där ut upp hade sin sitt sina över under denna detta dessa hon du ni dem oss mig dig "
    "måste mellan utan alla bara många mycket vad hur varje inga ingen inget",
    "da": "og i at det som en på er af for med den til ikke om har de et han var jeg fra kan vi men så eller når skal "
    "ved efter end også der ud op havde sin sit sine over under denne dette disse hun du dem os mig dig må mellem uden "
    "alle kun mange meget hvad hvor hver ingen intet blev bliver nogle noget hvis",
    "nb": "og i at det som en på er av for med den til ikke om har de et han var jeg fra kan vi men så eller når skal "
    "ved etter enn også der ut opp hadde sin sitt sine over under denne dette disse hun du dem oss meg deg må mellom "
    "uten alle bare mange mye hva hvor hver ingen ble blir noen noe hvis ei",
    "fi": "ja on ei se että oli kun tai ovat myös mutta hän ole niin sen joka jos voi kuin mitä jonka ne tämä nyt sitä "
    "vain jotka mukaan olla olisi hänen tässä siitä tämän minä sinä me te he ettei sekä kanssa sitten vielä jo ennen "
    "jälkeen ilman vaan eivät ollut tulee kaikki mikä tätä siinä koska joita itse",
}  # fmt: skip


def function_words(language: str) -> frozenset[str]:
    """In lower case; empty for languages that are not here. Single Latin letters are options and variables as well."""
    words = _FUNCTION_WORDS.get(base_code(language), "").split()
    return frozenset(word for word in words if len(word) > 1 or not word.isascii())


def listed_languages() -> tuple[str, ...]:
    """The languages that have a list."""
    return tuple(_FUNCTION_WORDS)
